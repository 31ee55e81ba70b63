"""Addresses of results in this process, and files of this machine that they are written to."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from onnxplain_server.adapters.sources.canonical_uri import canonical
from onnxplain_server.adapters.sources.local_endpoints import LocalEndpoints
from onnxplain_server.adapters.sources.local_files import LocalFiles
from onnxplain_server.adapters.sources.local_sources import LocalSources
from onnxplain_server.core.errors import ExplainError, Reason


def parts(*, fails: bool) -> Iterator[bytes]:
    yield b"new "
    if fails:
        raise ValueError("no more of it")
    yield b"content"


def test_a_file_is_replaced_once_all_parts_are_there(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"old")
    path.chmod(0o600)
    files, uri = LocalFiles("result_uri"), canonical(f"file://{path}", "result_uri")

    with pytest.raises(ValueError, match="no more of it"):
        files.write(uri, parts(fails=True))
    assert path.read_bytes() == b"old"
    files.write(uri, parts(fails=False))

    assert path.read_bytes() == b"new content"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [*tmp_path.iterdir()] == [path]


def test_a_device_is_written_and_not_replaced() -> None:
    LocalFiles("result_uri").write(canonical("file:///dev/null", "result_uri"), b"content")

    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    ("uri", "reason", "words"),
    [
        ("rows.parquet", Reason.INVALID_REQUEST, "must begin with s3://, gs:// or file:///"),
        ("https://a.example/x", Reason.INVALID_REQUEST, "must begin with s3://, gs:// or file:///"),
        ("s3://results/", Reason.INVALID_REQUEST, '"s3://results/" is a folder'),
        ("file://{folder}/missing/rows", Reason.SOURCE_NOT_FOUND, "its folder does not exist"),
        ("file://{folder}", Reason.INVALID_REQUEST, "it is a folder"),
    ],
)
def test_what_cannot_be_written_is_told_before_the_computation(
    tmp_path: Path, uri: str, reason: Reason, words: str
) -> None:
    sources = LocalSources(LocalEndpoints())
    with pytest.raises(ExplainError, match=words) as refused:
        sources.check_writable(uri.format(folder=tmp_path))

    assert (refused.value.reason, refused.value.field) == (reason, "result_uri")
    sources.check_writable(f"file://{tmp_path}/rows")


@given(st.text(st.sampled_from("aé %25;?#+.&=:~,'Ω"), min_size=1, max_size=12))
@example("100%.csv")
@example("a%20b; c?.csv")
def test_an_address_of_pathlib_names_the_same_file(name: str) -> None:
    path = Path("/tables") / name / "rows.csv"
    if name in {".", ".."}:
        return

    uri = canonical(path.as_uri())

    assert Path("/", *uri.segments) == path
    assert canonical(str(uri)) == uri


@pytest.mark.parametrize("uri", ["file:///a%2fb", "file:///a%5Cb", "file:///a%00", "file:///a%"])
def test_a_part_of_an_address_hides_no_other_part(uri: str) -> None:
    with pytest.raises(ExplainError, match="must"):
        canonical(uri)


def test_files_of_this_machine_need_no_library_of_stores() -> None:
    """As where onnxplain-server was installed without its extra "sources"."""
    program = "\n".join(
        (
            "import sys, onnxplain",
            "sys.modules['obstore'] = sys.modules['yaml'] = None",
            "onnxplain.local().close()",
        )
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
