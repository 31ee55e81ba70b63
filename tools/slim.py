"""Removes from an environment what a server never loads: tests, headers, and whole libraries.

Usage: python tools/slim.py SITE_PACKAGES

The Dockerfile runs it before the server's code is loaded and compiled there, which tells whether
too much is gone. A named library that is not found is an error: the package may have renamed it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDERS = frozenset({"include", "test", "tests"})
"""Names of folders that hold tests and headers, in any package."""

SUFFIXES = frozenset({".a", ".h", ".hpp", ".pxd", ".pxi", ".pyx"})
"""Endings of files that only compilers read."""

LIBRARIES = (
    # Arrow's remote procedure calls and its client of S3.
    "pyarrow/libarrow_flight.so.*",
    "pyarrow/libarrow_python_flight.so*",
    "pyarrow/libarrow_s3.so.*",
    "pyarrow/_flight.*.so",
    "pyarrow/_s3fs.*.so",
    # The library for C programs; Python's module has all of it once more.
    "onnxruntime/capi/libonnxruntime.so.*",
)
"""Patterns of files."""


def slim(packages: Path) -> int:
    """Remove the files; return their bytes.

    Raises
    ------
    FileNotFoundError
        Where nothing matches a pattern of `LIBRARIES`.
    """
    removed = 0
    for path in [*_libraries(packages), *_unused(packages)]:
        removed += sum(file.stat().st_size for file in _files(path))
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return removed


def _libraries(packages: Path) -> Iterator[Path]:
    for pattern in LIBRARIES:
        matches = sorted(packages.glob(pattern))
        if not matches:
            raise FileNotFoundError(f"{packages} has no {pattern}: adapt LIBRARIES in {__file__}")
        yield from matches


def _unused(folder: Path) -> Iterator[Path]:
    """Yield the outermost folders of tests and headers, and files of compilers elsewhere."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            if path.name in FOLDERS:
                yield path
            else:
                yield from _unused(path)
        elif path.suffix in SUFFIXES:
            yield path


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (file for file in path.rglob("*") if file.is_file() and not file.is_symlink())
    elif not path.is_symlink():
        yield path


if __name__ == "__main__":
    print(f"removed {slim(Path(sys.argv[1])) / 2**20:.0f} MiB")  # noqa: T201 - output of a command
