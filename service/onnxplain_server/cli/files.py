"""Files of a command: "-" is standard input, and an output file appears whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import typer

from onnxplain_server.cli.failure import CommandError

Write = Callable[[bytes], None]

STANDARD_INPUT = "-"


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
    """Refuse to read two things from standard input."""
    if sum(path == STANDARD_INPUT for path in paths) > 1:
        raise typer.BadParameter('only one of the files can be "-", standard input')


@contextmanager
def destination(path: Path | None) -> Iterator[Write]:
    """Open the place for an answer before it is computed: a bad place shows at once.

    A file takes its name only when all inside has succeeded; until then, and after a failure,
    what had that name stays as it was.

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
    """Tell whether a path is there and is no file that could be replaced, like /dev/null."""
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
    """Return the permissions of the file to replace, or those of any new file."""
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
        # Whoever read the answer has seen enough; typer ends quietly.
        raise
    except OSError as error:
        raise CommandError("FILE_UNWRITABLE", f"cannot write {path}: {_cause(error)}") from None


def _cause(error: OSError) -> str:
    return error.strerror or str(error)
