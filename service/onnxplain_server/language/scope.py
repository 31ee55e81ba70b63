"""Scope of an expression: what its names stand for, in words for errors."""

from __future__ import annotations

from dataclasses import dataclass

from onnxplain_server.core.errors import Reason


@dataclass(frozen=True, slots=True)
class Scope:
    """Meaning of the names of an expression, in words for errors.

    Attributes
    ----------
    unknown : str
        Error for a name that does not exist; "{name}" and "{known}" are filled in.
    unused : str
        Error for an expression without names.
    cause : Reason
        Reason of the error for an unknown name.
    """

    unknown: str
    unused: str
    cause: Reason


COLUMNS_OF_TABLE = Scope(
    "the table has no column {name}; it has {known}",
    "the expression names no column",
    Reason.MISSING_COLUMN,
)
