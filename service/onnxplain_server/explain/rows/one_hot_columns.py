"""One-hot columns: columns of 0 and 1 of which exactly one is 1 in each row, alike by name."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import listed
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.plots.elements.labels import enumerate_words

_FEWEST_ROWS = 10
"""Rows from which on a single 1 in each is no chance of few rows."""
_LOOKED_AT = 1_000
"""Rows that most columns are refused by."""
_MOST_WRITTEN = 30
"""Largest number of columns of a group that a message writes."""


def one_hot_groups(names: Sequence[str], columns: Sequence[Array]) -> list[tuple[str, ...]]:
    """Find groups of one-hot columns, in table order.

    Columns of a group begin with the same text, up to a sign that is no letter or digit, such as
    "kind_"; of texts that would do, the shortest, so that categories no row has are among them.

    Parameters
    ----------
    columns : sequence of (n_rows,)
        Numbers or text.
    """
    if not len(columns) or len(columns[0]) < _FEWEST_ROWS:
        return []
    binary = {name: c for name, c in zip(names, columns, strict=True) if _is_binary(c)}
    by_prefix: dict[str, list[str]] = {}
    for name in binary:
        for sign in re.finditer(r"[\W_]", name):
            by_prefix.setdefault(name[: sign.end()], []).append(name)
    found: list[tuple[str, ...]] = []
    taken: set[str] = set()
    for _, members in sorted(by_prefix.items(), key=lambda item: len(item[0])):
        if len(members) < 2 or taken.intersection(members):
            continue
        if _sums_to_one([binary[name] for name in members]):
            found.append(tuple(members))
            taken.update(members)
    return sorted(found, key=lambda group: names.index(group[0]))


def one_hot_notes(
    singles: Mapping[str, Collection[str]], names: Sequence[str], columns: Sequence[Array]
) -> tuple[Note, ...]:
    """Suggest groups of one-hot columns that methods count singly.

    Parameters
    ----------
    singles : mapping of method to features
        Features that the method counts singly, and could count as one.
    names, columns
        All features, and their values: (n_rows,) each.
    """
    every = set().union(*singles.values()) if singles else set()
    if not every:
        return ()
    groups = [group for group in one_hot_groups(names, columns) if every.issuperset(group)]
    methods = [
        method for method, own in singles.items() if any(set(own).issuperset(g) for g in groups)
    ]
    if not groups:
        return ()
    written = [{"names": group} for group in groups]
    is_short = sum(map(len, groups)) <= _MOST_WRITTEN
    example = json.dumps(written, ensure_ascii=False) if is_short else "the suggested groups"
    begun = enumerate_words([listed(group) for group in groups[:3]])
    message = (
        f"One-hot columns: of {begun}{' and others' * (len(groups) > 3)}, exactly one is 1 in each "
        f"row, and {enumerate_words(methods)} count each by itself. To have a category as one "
        f'feature, ask again with "groups": {example} (in permutation importance, as entries of '
        '"features").'
    )
    return (Note(InputWarning.ONE_HOT_COLUMNS, message, suggested_groups=tuple(groups)),)


def _is_binary(column: Array) -> bool:
    if column.dtype == object:
        return False
    return all(bool(((part == 0) | (part == 1)).all()) for part in (column[:_LOOKED_AT], column))


def _sums_to_one(columns: Sequence[Array]) -> bool:
    total = np.zeros(len(columns[0]), dtype=np.int32)
    for column in columns:
        total += column == 1
    return bool((total == 1).all())
