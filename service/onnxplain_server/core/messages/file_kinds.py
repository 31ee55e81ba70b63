"""Kind of a file by its first bytes, for messages about a file that is not what was asked for."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

_LOOKED_AT = 4_096
_TEXT_MARKS = (",", ";", "\t")


class Role(Enum):
    """Role of a file in a request."""

    TABLE = "table"
    MODEL = "model"
    OTHER = "other"


class FileKind(NamedTuple):
    """Kind of a file.

    Attributes
    ----------
    words : str
        Noun phrase, like "an Excel workbook (.xlsx)".
    role : Role
        What such a file holds, whether or not it can be read.
    """

    words: str
    role: Role


EXCEL = FileKind("an Excel workbook (.xlsx)", Role.TABLE)
OLD_EXCEL = FileKind("an Excel workbook (.xls)", Role.TABLE)
PICKLE = FileKind("a pickle of Python", Role.MODEL)
TORCH = FileKind("a file of torch.save", Role.MODEL)
KERAS = FileKind("a Keras model (.keras)", Role.MODEL)
ONNX = FileKind("an ONNX model", Role.MODEL)
PARQUET = FileKind("a Parquet file", Role.TABLE)
ARROW = FileKind("an Arrow file", Role.TABLE)
CATBOOST = FileKind("CatBoost's binary format (.cbm)", Role.MODEL)
OLD_XGBOOST = FileKind("XGBoost's old binary format", Role.MODEL)
CSV = FileKind("text with separators, as CSV", Role.TABLE)
_STARTS = (
    (b"\xd0\xcf\x11\xe0", OLD_EXCEL),
    (b"PAR1", PARQUET),
    (b"ARROW1", ARROW),
    (b"\xff\xff\xff\xff", ARROW),
    (b"\x89HDF", FileKind("an HDF5 file (.h5)", Role.MODEL)),
    (b"\x93NUMPY", FileKind("an array of NumPy (.npy)", Role.TABLE)),
    (b"CBM1", CATBOOST),
    (b"tree\nversion", FileKind("LightGBM's own format", Role.MODEL)),
    (b"\x1f\x8b", FileKind("a gzip archive", Role.OTHER)),
    (b"%PDF", FileKind("a PDF document", Role.OTHER)),
    (b"\x89PNG", FileKind("a picture", Role.OTHER)),
    (b"binf", OLD_XGBOOST),
    (b"{L", FileKind("XGBoost's own format (.ubj)", Role.MODEL)),
    (b"<", FileKind("HTML or XML", Role.OTHER)),
    (b"{", FileKind("JSON", Role.OTHER)),
    (b"[", FileKind("JSON", Role.OTHER)),
)
_ZIPPED = (
    (b"xl/", EXCEL),
    (b"[Content_Types].xml", EXCEL),
    (b"data.pkl", TORCH),
    (b"model.weights.h5", KERAS),
)
_ZIP = b"PK\x03\x04"
_PICKLE, _PICKLE_PROTOCOLS = 0x80, range(2, 6)
_ONNX_VERSION, _ONNX_FIELDS = 0x08, b"\x12\x1a\x22\x28\x32\x3a\x42"
"""First field of an ONNX file, and those that may follow it."""


def file_kind(content: bytes | bytearray | memoryview) -> FileKind | None:
    """Return the kind of a file; None for one that is not known."""
    start = bytes(content[:_LOOKED_AT])
    if start.startswith(_ZIP):
        kinds = (kind for mark, kind in _ZIPPED if mark in start)
        return next(kinds, FileKind("a ZIP archive", Role.OTHER))
    if len(start) > 1 and start[0] == _PICKLE and start[1] in _PICKLE_PROTOCOLS:
        return PICKLE
    if len(start) > 2 and start[0] == _ONNX_VERSION and start[2] in _ONNX_FIELDS:
        return ONNX
    kinds = (kind for mark, kind in _STARTS if start.startswith(mark))
    return next(kinds, CSV if _is_separated(start) else None)


def _is_separated(start: bytes) -> bool:
    """Return whether a file starts with a line of printable text that has separators."""
    try:
        line = start.decode(errors="ignore").splitlines()[0]
    except IndexError:
        return False
    is_text = b"\0" not in start and all(char.isprintable() or char == "\t" for char in line)
    return is_text and any(mark in line for mark in _TEXT_MARKS)
