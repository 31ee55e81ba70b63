"""Removes from an environment what a server never loads: tests, headers, and whole libraries.

Usage: python tools/slim.py SITE_PACKAGES

The Dockerfile runs it before the server's code is loaded and compiled there, which tells whether
too much is gone. A named library that is not found is an error: the package may have renamed it.
"""

from __future__ import annotations

import sys
from pathlib import Path, PurePath

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


def is_unused(file: PurePath) -> bool:
    """Tell whether a server never loads a file, given by its path below site-packages."""
    return (
        not FOLDERS.isdisjoint(file.parts[:-1])
        or file.suffix in SUFFIXES
        or any(file.match(pattern) for pattern in LIBRARIES)
    )


def slim(packages: Path) -> int:
    """Remove unused files, and folders that are empty then; return their bytes.

    Raises
    ------
    FileNotFoundError
        Where nothing matches a pattern of `LIBRARIES`.
    """
    for pattern in LIBRARIES:
        if not any(packages.glob(pattern)):
            raise FileNotFoundError(f"{packages} has no {pattern}: adapt LIBRARIES in {__file__}")
    removed = 0
    # The deepest first, so that a folder comes behind its files.
    for path in sorted(packages.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif is_unused(path.relative_to(packages)):
            removed += path.lstat().st_size
            path.unlink()
    return removed


if __name__ == "__main__":
    print(f"removed {slim(Path(sys.argv[1])) / 2**20:.0f} MiB")  # noqa: T201 - output of a command
