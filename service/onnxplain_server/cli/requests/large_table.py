"""Tables that a command reads in blocks, as they would not fit into the memory it may use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from onnxplain_server.cli.failure import UsageFault
from onnxplain_server.cli.files import STANDARD_INPUT

if TYPE_CHECKING:
    from onnxplain_server.trees.streaming.row_blocks import LargeTable
    from onnxplain_server.trees.streaming.workers import Workers

_SHARE = 2
"""The default is a half of the machine's memory."""
_PACKED = (b"PAR1", b"ARRO", b"\x1f\x8b")
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
        They read the table in blocks, whatever its size.

    Raises
    ------
    ExplainError
        INVALID_TABLE.
    UsageFault
        Where workers could not read the table.
    """
    is_in_blocks = _is_in_blocks(path)
    if workers is not None and not is_in_blocks:
        raise UsageFault(
            "a cluster reads a table from its path: TABLE must be a Parquet or Arrow file",
            "--dask-scheduler",
        )
    if path is None or not is_in_blocks:
        return None
    allowed = memory_bytes or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _SHARE
    with Path(path).open("rb") as file:
        is_packed = file.read(4).startswith(_PACKED)
    if not is_packed and _BYTES_PER_BYTE * Path(path).stat().st_size <= allowed:
        return None
    from onnxplain_server.adapters.runner.table_blocks import large_table as of_file

    return of_file(Path(path), allowed, workers)


def _is_in_blocks(path: str | None) -> bool:
    if path is None or path == STANDARD_INPUT or not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(6).startswith(_BEGINNINGS)
