"""Input and output files of a command. "-" is standard input; output is written atomically."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO, TypeAlias

import typer

from onnxplain_server.cli.failure import CommandError, UsageFault

Write = Callable[[bytes], None]

STANDARD_INPUT = "-"

ResultUri: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URI",
        help="Address that the answer is written to as well; one that ends in .parquet gets the "
        "rows of attributions as a table, and the answer has no rows then.",
    ),
]
"""Flag of the address that a result is written to."""


def read(path: str) -> bytes:
    """Read a file, or standard input where the path is "-".

    Raises
    ------
    CommandError
        FILE_UNREADABLE.
    """
    try:
        if path == STANDARD_INPUT:
            return sys.stdin.buffer.read()
        return Path(path).read_bytes()
    except OSError as error:
        raise CommandError("FILE_UNREADABLE", f"cannot read {path}: {_cause(error)}") from None


def check_one_stdin(paths: Sequence[str | None]) -> None:
    """Refuse to read two files from standard input."""
    if sum(path == STANDARD_INPUT for path in paths) > 1:
        raise UsageFault('only one of the files can be "-", standard input')


@contextmanager
def destination(path: Path | None) -> Iterator[Write]:
    """Open the destination before the answer is computed, so that an unwritable one fails early.

    A file is replaced atomically when the context succeeds; after a failure, an existing file is
    unchanged.

    Parameters
    ----------
    path : Path or None
        None: standard output.

    Raises
    ------
    CommandError
        FILE_UNWRITABLE.
    """
    if path is None:
        yield _to_stdout
    elif _is_special(path):
        yield lambda content: _to_special(path, content)
    else:
        with _replacing(path) as write:
            yield write


def _to_stdout(content: bytes) -> None:
    with _unwritable("standard output"):
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def _to_special(path: Path, content: bytes) -> None:
    with _unwritable(path), path.open("wb") as target:
        target.write(content)


def _is_special(path: Path) -> bool:
    """Return whether a path exists but is not a regular file, like /dev/null."""
    return path.exists() and not path.is_file()


@contextmanager
def _replacing(path: Path) -> Iterator[Write]:
    final = Path(os.path.realpath(path))
    with _unwritable(path):
        handle, name = tempfile.mkstemp(prefix=f".{final.name}.", dir=final.parent)
    try:
        with os.fdopen(handle, "wb") as draft:
            yield lambda content: _to_draft(path, draft, content)
        with _unwritable(path):
            Path(name).chmod(_mode(final))
            Path(name).replace(final)
    finally:
        Path(name).unlink(missing_ok=True)


def _to_draft(path: Path, draft: BinaryIO, content: bytes) -> None:
    with _unwritable(path):
        draft.write(content)
        draft.flush()


def _mode(final: Path) -> int:
    """Return the permissions of the file to replace, or the default ones."""
    if final.exists():
        return stat.S_IMODE(final.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def _unwritable(path: Path | str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        # The reader closed the pipe; typer exits quietly.
        raise
    except OSError as error:
        raise CommandError("FILE_UNWRITABLE", f"cannot write {path}: {_cause(error)}") from None


def _cause(error: OSError) -> str:
    return error.strerror or str(error)
