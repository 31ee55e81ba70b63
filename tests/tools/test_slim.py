"""Files that the image leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.slim import LIBRARIES, slim

KEPT = (
    "numpy/__init__.py",
    "numpy/testing/__init__.py",  # other packages import it
    "jinja2/tests.py",
    "pyarrow/libarrow.so.2600",
    "pyarrow/_parquet.cpython-311-x86_64-linux-gnu.so",
    "onnxruntime/capi/onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so",
)
REMOVED = (
    "numpy/_core/tests/test_umath.py",
    "numpy/_core/include/numpy/arrayobject.h",
    "numpy/random/lib/libnpyrandom.a",
    "onnx/backend/test/data/node/model.onnx",
    "sklearn/tree/_tree.pxd",
)
NAMED = tuple(pattern.replace("*", "26") for pattern in LIBRARIES)


def write(packages: Path, *names: str) -> None:
    for name in names:
        path = packages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"1234")


def test_tests_headers_and_named_libraries_go_and_all_else_stays(tmp_path: Path) -> None:
    write(tmp_path, *KEPT, *REMOVED, *NAMED)

    removed = slim(tmp_path)

    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == set(KEPT)
    assert removed == 4 * len(REMOVED + NAMED)
    assert not (tmp_path / "onnx").exists()


@pytest.mark.parametrize("missing", NAMED)
def test_a_named_library_that_is_gone_is_noticed(tmp_path: Path, missing: str) -> None:
    write(tmp_path, *KEPT, *(name for name in NAMED if name != missing))

    with pytest.raises(FileNotFoundError, match="adapt LIBRARIES"):
        slim(tmp_path)
