"""Causes in some rows: missing values, and categories that the model does not know."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Flags
from onnxplain_server.core.rows import Features, is_missing
from onnxplain_server.core.table import listed
from onnxplain_server.explain.expected_predictions.comparison import CauseKind, LikelyCause

_CHANCE = 0.01
"""Probability from which it is no accident that all rows that differ have something."""
_SHOWN = 5


class _Mark(NamedTuple):
    """Something that rows may have, in each of some features: flags of all rows.

    `tell` makes a sentence of who has it, in which features and in which rows that differ.
    """

    kind: CauseKind
    names: tuple[str, ...]
    columns: Sequence[Array]
    tell: Callable[[str, tuple[str, ...], Flags], str]


def causes_in_rows(
    features: Features, differs: Flags, known: Collection[str], fault: str
) -> tuple[LikelyCause, ...]:
    """Find what all rows that differ have, and few others; or one or the other of both.

    Parameters
    ----------
    features : Features
        Of all rows.
    differs : (n_rows,)
    known : collection of str
        Texts in the model; empty where they are not known.
    fault : str
        What is known of the converter that wrote the model about missing values; may be empty.
    """
    missing, unknown = _missing(features, fault), _unknown(features, known)
    alone = [(mark, _covering(mark, differs)) for mark in (missing, unknown)]
    if any(names for _, names in alone):
        return tuple(_cause(mark, names, differs) for mark, names in alone if names)
    together = np.logical_or.reduce([*missing.columns, *unknown.columns])
    if not _explains(together, differs):
        return ()
    is_unknown = _any(unknown, differs)
    both = ((missing, differs & ~is_unknown), (unknown, differs & is_unknown))
    return tuple(_cause(mark, _fewest(mark, rows), differs) for mark, rows in both)


def _missing(features: Features, fault: str) -> _Mark:
    def tell(rows: str, names: tuple[str, ...], _: Flags) -> str:
        return (
            f"{rows} missing values in {listed(names, _SHOWN)}: the model takes another way for "
            f"them than its library. {fault or 'Fill them before the model.'}"
        )

    columns = [is_missing(column) for column in features.stored]
    return _Mark(CauseKind.MISSING_VALUES, features.names, columns, tell)


def _unknown(features: Features, known: Collection[str]) -> _Mark:
    texts = [j for j, column in enumerate(features.stored) if column.dtype == object and known]
    values = {features.names[j]: features.stored[j] for j in texts}
    unknown = {
        name: ~(np.isin(column.astype(str), [*known]) | is_missing(column))
        for name, column in values.items()
    }

    def tell(rows: str, names: tuple[str, ...], differs: Flags) -> str:
        found = values[names[0]][differs & unknown[names[0]]]
        examples = tuple(np.unique(found.astype(str)).tolist())
        return (
            f"{rows} a category of {listed(names, _SHOWN)} that the model does not know, as "
            f"{listed(examples, _SHOWN)}: it encodes them otherwise than its library. Write the "
            "encoder's unknown and infrequent categories into the model, or leave these rows out."
        )

    return _Mark(CauseKind.UNKNOWN_CATEGORY, tuple(unknown), [*unknown.values()], tell)


def _covering(mark: _Mark, differs: Flags) -> tuple[str, ...]:
    """Return the feature that is marked in all rows that differ, or features that are together.

    Empty where there are none, or where so many rows are marked that it may be an accident.
    """
    for name, marked in zip(mark.names, mark.columns, strict=True):
        if _explains(marked, differs):
            return (name,)
    return _fewest(mark, differs) if _explains(_any(mark, differs), differs) else ()


def _fewest(mark: _Mark, rows: Flags) -> tuple[str, ...]:
    """Return the feature that is marked in all of these rows, or else those that are in some."""
    pairs = [*zip(mark.names, mark.columns, strict=True)]
    single = next(((name,) for name, marked in pairs if marked[rows].all()), None)
    return single or tuple(name for name, marked in pairs if marked[rows].any())


def _any(mark: _Mark, differs: Flags) -> Flags:
    """Return the rows that are marked in some feature, of as many as `differs` has."""
    found: Flags = np.logical_or.reduce([np.zeros_like(differs), *mark.columns])
    return found


def _explains(marked: Array, differs: Flags) -> bool:
    count = int(np.count_nonzero(differs))
    return bool(marked[differs].all()) and float(marked.mean()) ** count < _CHANCE


def _cause(mark: _Mark, names: tuple[str, ...], differs: Flags) -> LikelyCause:
    own = [mark.columns[mark.names.index(name)] for name in names]
    explained = int(np.count_nonzero(np.logical_or.reduce(own) & differs))
    count = int(np.count_nonzero(differs))
    rows = "All rows that differ have"
    if count == 1:
        rows = "The row that differs has"
    elif explained < count:
        rows = f"{explained:,} of {count:,} rows that differ {'has' if explained == 1 else 'have'}"
    return LikelyCause(mark.kind, mark.tell(rows, names, differs), explained, count)
