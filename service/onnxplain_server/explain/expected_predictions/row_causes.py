"""Causes in some rows: missing values, and categories that the model does not know."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Flags
from onnxplain_server.core.rows import Features, is_missing
from onnxplain_server.core.table import listed
from onnxplain_server.explain.expected_predictions.comparison import CauseKind, LikelyCause

_CHANCE = 0.01
"""Probability from which it is no accident that all rows that differ have something."""
_SHOWN = 5


def missing_values(features: Features, differs: Flags, fault: str) -> LikelyCause | None:
    """Find that all rows that differ have missing values, which few others have.

    Parameters
    ----------
    features : Features
        Of all rows.
    differs : (n_rows,)
    fault : str
        What is known of the converter that wrote the model; may be empty.
    """
    columns = [is_missing(column) for column in features.stored]
    names = _covering(features.names, columns, differs)
    if not names:
        return None
    message = (
        f"All rows that differ have missing values in {listed(names, _SHOWN)}: the model takes "
        f"another way for them than its library. {fault or 'Fill them before the model.'}"
    )
    return _of_rows(CauseKind.MISSING_VALUES, message, differs)


def unknown_category(
    features: Features, differs: Flags, known: Collection[str]
) -> LikelyCause | None:
    """Find that all rows that differ have categories that the model does not know.

    Parameters
    ----------
    features, differs
        As for `missing_values`.
    known : collection of str
        Texts in the model; empty where they are not known.
    """
    texts = [j for j, column in enumerate(features.stored) if column.dtype == object]
    if not known or not texts:
        return None
    names = tuple(features.names[j] for j in texts)
    values = [features.stored[j] for j in texts]
    unknown = [~np.isin(column.astype(str), [*known]) for column in values]
    found = _covering(names, unknown, differs)
    if not found:
        return None
    place = names.index(found[0])
    examples = tuple(np.unique(values[place][differs & unknown[place]].astype(str)).tolist())
    message = (
        f"All rows that differ have a category of {listed(found, _SHOWN)} that the model does not "
        f"know, as {listed(examples, _SHOWN)}: it encodes them otherwise than its library. Write "
        "the encoder's unknown and infrequent categories into the model, or leave these rows out."
    )
    return _of_rows(CauseKind.UNKNOWN_CATEGORY, message, differs)


def _covering(names: Sequence[str], columns: Sequence[Array], differs: Flags) -> tuple[str, ...]:
    """Return the feature that is marked in all rows that differ, or features that are together.

    Empty where there are none, or where so many rows are marked that it may be an accident.
    """
    for name, marked in zip(names, columns, strict=True):
        if _explains(marked, differs):
            return (name,)
    together = np.logical_or.reduce(columns)
    if not _explains(together, differs):
        return ()
    return tuple(
        name for name, marked in zip(names, columns, strict=True) if (marked & differs).any()
    )


def _explains(marked: Array, differs: Flags) -> bool:
    count = int(np.count_nonzero(differs))
    return bool(marked[differs].all()) and float(marked.mean()) ** count < _CHANCE


def _of_rows(kind: CauseKind, message: str, differs: Flags) -> LikelyCause:
    count = int(np.count_nonzero(differs))
    return LikelyCause(kind, message, count, count)
