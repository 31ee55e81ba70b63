"""Files of this machine that results are written to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from onnxplain_server.adapters.sources.canonical_uri import canonical
from onnxplain_server.adapters.sources.local_files import LocalFiles


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
