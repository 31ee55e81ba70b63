"""Files of tables, told apart by their first bytes and sent as they are; needs no Arrow library."""

from __future__ import annotations

import gzip
import zlib

from onnxplain.v1.table_pb2 import Table

_ARROW_FILE = b"ARROW1"
_ARROW_STREAM = b"\xff\xff\xff\xff"
_PARQUET = b"PAR1"
_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks, with which PowerShell's text begins."""
_CONTROL = frozenset(range(32)).difference(b"\t\n\r\f")
"""Bytes that no text has; every ONNX file has some at its beginning."""
_SNIFFED_BYTES = 1000


def from_bytes(content: bytes) -> Table:
    """Wrap the bytes of a file: Arrow IPC or Parquet where they begin like one, else CSV.

    A gzipped file, like "rows.csv.gz", is unpacked here, where it is trusted; the server would
    have to guard against decompression bombs.

    Raises
    ------
    ValueError
        Where such a file is broken.
    """
    if content.startswith(_GZIP):
        content = _decompress(content)
    if content.startswith((_ARROW_FILE, _ARROW_STREAM)):
        return Table(arrow=content)
    if content.startswith(_PARQUET):
        return Table(parquet=content)
    return Table(csv=content)


def is_table(content: bytes) -> bool:
    """Tell whether a file begins like a table: Arrow IPC, Parquet, gzip or text; ONNX does not."""
    if content.startswith((_ARROW_FILE, _ARROW_STREAM, _PARQUET, _GZIP, *_UTF_16)):
        return True
    return _CONTROL.isdisjoint(content[:_SNIFFED_BYTES])


def _decompress(content: bytes) -> bytes:
    try:
        return gzip.decompress(content)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"the table begins like a gzip file, but is broken: {error}") from None
