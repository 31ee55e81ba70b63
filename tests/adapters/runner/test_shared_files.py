"""Files that several machines share: one that is another elsewhere is refused, and named."""

from collections.abc import Callable
from pathlib import Path

import pytest
from onnxplain_server.adapters.runner.blocks.shared_files import check, shared_file
from onnxplain_server.core.errors import ExplainError, Reason

CONTENT = b"head " + bytes(1 << 16) + b" end"


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda file: file.write_bytes(CONTENT[:-1] + b"t"), "differs from that of the command"),
        (lambda file: file.write_bytes(CONTENT[1:]), "differs from that of the command"),
        (Path.unlink, "cannot be read: No such file or directory"),
    ],
    ids=["same size, other end", "other size", "gone"],
)
def test_a_file_that_is_another_on_a_worker_is_refused(
    tmp_path: Path, change: Callable[[Path], object], cause: str
) -> None:
    file = tmp_path / "rows.parquet"
    file.write_bytes(CONTENT)
    described = shared_file(file)
    check([described])

    change(file)
    with pytest.raises(ExplainError, match=f"rows.parquet {cause} on worker ") as refused:
        check([described])
    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_TABLE, "table")
