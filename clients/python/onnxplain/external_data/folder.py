"""Files beside a model's file: those that it names, in its folder and nowhere else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from onnxplain.external_data.inlining import ValueFile, in_one_piece, refusal


def read_model(path: Path) -> bytes:
    """Read a model, and the files beside it that it names, as one piece.

    Raises
    ------
    OSError
        Where the model's own file cannot be read.
    ExplainError
        See `in_one_piece`.
    """
    return beside(path.read_bytes(), path.parent)


def beside(content: bytes, folder: Path) -> bytes:
    """Put the values of files in a folder into the model that names them; see `in_one_piece`."""
    return in_one_piece(content, lambda name: find_in(folder, name))


def find_in(folder: Path, name: str) -> ValueFile:
    """Find a file in a folder or below it; EXTERNAL_DATA where it leads out of it, or is none."""
    path = folder / name
    try:
        # Not `Path.resolve`, which tells of links in a circle by another error before Python 3.13.
        real, root = (Path(os.path.realpath(each, strict=True)) for each in (path, folder))
        is_file = stat.S_ISREG(real.stat().st_mode)
        size = real.stat().st_size
    except OSError:
        raise refusal(
            f'the model has values in the file "{name[:200]}", which cannot be read in '
            f"{folder.absolute()}; put it there, under this name"
        ) from None
    if not real.is_relative_to(root) or not is_file:
        raise refusal(f'"{name[:200]}" leads out of the folder of the model, or is no file')

    def read(start: int, length: int) -> bytes:
        with real.open("rb") as opened:
            opened.seek(start)
            return opened.read(length)

    return ValueFile(size, read)
