"""Tables that a command reads in blocks, as they would not fit into the memory it may use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onnxplain_server.cli.files import STANDARD_INPUT
from onnxplain_server.core.memory import default_memory_bytes

if TYPE_CHECKING:
    from onnxplain_server.trees.streaming.row_blocks import LargeTable
    from onnxplain_server.trees.streaming.workers import Workers

_SEEKABLE = (b"PAR1", b"ARRO")
"""Beginnings of files that workers of a cluster read: those of Parquet and Arrow."""
_PACKED = (*_SEEKABLE, b"\x1f\x8b")
"""Beginnings of Parquet, Arrow and gzip files."""
_BYTES_PER_BYTE = 48
"""Most memory for a byte of text; smaller files are told to fit without a library."""


def large_table(
    path: str | None, memory_bytes: int | None, workers: Workers | None = None
) -> LargeTable | None:
    """Return a table that is read in blocks, as it is too large for memory; None for any other.

    Parameters
    ----------
    path : str or None
        Parquet, Arrow and CSV files are read in blocks; standard input only as a whole.
    memory_bytes : int or None
        None: half of the machine's memory.
    workers : Workers, optional
        They read Parquet and Arrow files in blocks, whatever their size.

    Raises
    ------
    ExplainError
        INVALID_TABLE.
    """
    start = _start(path)
    if path is None or not start:
        return None
    if not start.startswith(_SEEKABLE):
        workers = None
    allowed = memory_bytes or default_memory_bytes()
    if not start.startswith(_PACKED) and _BYTES_PER_BYTE * Path(path).stat().st_size <= allowed:
        return None
    from onnxplain_server.adapters.runner.blocks.table_blocks import large_table as of_file

    return of_file(Path(path), allowed, workers)


def _start(path: str | None) -> bytes:
    """Return the first bytes of a file; none of standard input, and where there is no file."""
    if path is None or path == STANDARD_INPUT or not Path(path).is_file():
        return b""
    with Path(path).open("rb") as file:
        return file.read(4)
