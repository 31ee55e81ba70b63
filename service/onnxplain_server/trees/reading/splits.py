"""Splits: the set of feature keys for which each node's comparison is true.

For a chain of monotone steps g and a threshold t, {g < t}, {g = t} and {g > t} are adjacent
intervals of the feature's own keys. Bisection finds their ends, with g computed as the runtime
does, so thresholds are pulled back through scalers, casts and the like without rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.trees.reading.axes import (
    END,
    FIRST,
    MISSING,
    Keys,
    key_of,
    range_of,
    value_of,
)
from onnxplain_server.trees.reading.nodes import Mode, Nodes
from onnxplain_server.trees.reading.tensor_columns import (
    Column,
    DType,
    FeatureSteps,
    Lookup,
    Step,
    lookup,
)

Truth = npt.NDArray[np.bool_]

_TRUTH = np.array(
    [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1], [0, 1, 0], [1, 0, 1]], dtype=bool
)  # for values that are less than, equal to and greater than the threshold, by mode
_COMPARED = frozenset({np.dtype(np.float64), np.dtype(np.float32)})
_TO_FLOAT = Step(lambda values: values.astype(np.float32), 1, "Cast")
_TO_INTEGER = Step(np.trunc, 1, "Cast")
_MAX_TESTS = 30
"""Most members of a set, and the greatest one, that the runtime tests one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyRuns:
    """Sets of keys as disjoint half-open runs, ascending within each node.

    Attributes
    ----------
    nodes : (n_runs,)
        Node that is true there; the runs of a node are contiguous.
    lows, highs : (n_runs,)
    """

    nodes: Indices
    lows: Keys
    highs: Keys


def true_runs(nodes: Nodes, chosen: Indices, column: Column, categories: Array | None) -> KeyRuns:
    """Find the keys for which nodes that compare the same column are true.

    Parameters
    ----------
    chosen : (n_chosen,)
        Positions of the nodes.
    categories : (n_categories,) or None
        Categories of a text feature.
    """
    is_member = nodes.modes[chosen] == Mode.MEMBER
    plain, members = chosen[~is_member], chosen[is_member]
    compared = _as_compared(column)
    parts = [_member(nodes, node, compared, categories) for node in members]
    if isinstance(compared, Lookup):
        parts.append(_lookups(nodes, plain, compared, categories))
    else:
        parts.append(_chains(nodes, plain, compared))
    return KeyRuns(
        np.concatenate([part.nodes for part in parts]),
        np.concatenate([part.lows for part in parts]),
        np.concatenate([part.highs for part in parts]),
    )


def merge_runs(parts: Sequence[KeyRuns]) -> KeyRuns:
    """Merge overlapping and adjacent runs of each node, which may be in any order."""
    nodes = np.concatenate([np.tile(part.nodes, 2) for part in parts])
    keys = np.concatenate([ends for part in parts for ends in (part.lows, part.highs)])
    turns = np.concatenate([np.repeat([1, -1], len(part.nodes)) for part in parts])
    order = np.lexsort((-turns, keys, nodes))
    open_runs = np.cumsum(turns[order])  # 0 after each node's last run
    is_end = open_runs == 0
    is_start = np.append(True, is_end[:-1])[: len(order)]
    return KeyRuns(nodes[order][is_start], keys[order][is_start], keys[order][is_end])


def _as_compared(column: Column) -> Column:
    """Return the column in the type of the comparison: float64 stays, others become float32."""
    return column if _type_of(column) in _COMPARED else column.then(_TO_FLOAT)


def _type_of(column: Column) -> DType:
    return column.values.dtype if isinstance(column, Lookup) else column(np.zeros(1)).dtype


def _chains(nodes: Nodes, chosen: Indices, chain: FeatureSteps) -> KeyRuns:
    """Find runs of nodes that compare a chain: three intervals, and the missing value."""
    unique, inverse = np.unique(nodes.thresholds[chosen], return_inverse=True)
    thresholds = unique.astype(chain(np.zeros(1)).dtype)
    lows, highs = (ends[inverse] for ends in _equal_range(chain, thresholds))
    truth = _TRUTH[nodes.modes[chosen]][:, :: chain.sign]
    # An end between equal truths is moved onto the other end, which leaves no needless cut.
    lows = np.where(truth[:, 0] == truth[:, 1], highs, lows)
    highs = np.where(truth[:, 1] == truth[:, 2], lows, highs)
    truth[:, 1] = np.where(lows == highs, truth[:, 0], truth[:, 1])
    value = chain(np.array([np.nan if chain.dtype.kind == "f" else 0.0]))
    missing = _compare(nodes, chosen, value)
    return _join(chosen, np.column_stack([truth, missing]), np.column_stack([lows, highs]))


def _lookups(nodes: Nodes, chosen: Indices, column: Lookup, categories: Array | None) -> KeyRuns:
    """Find runs of nodes that compare a lookup: every key and every gap has its own truth."""
    ends, order = _pieces(column, categories)
    truth = _compare(nodes, chosen, column.values[order])
    return _join(chosen, truth, np.tile(ends, (len(chosen), 1)))


def _member(nodes: Nodes, node: np.intp, column: Column, categories: Array | None) -> KeyRuns:
    """Find runs of a node of mode MEMBER, as a lookup of its members."""
    members = nodes.members[int(node)]
    if is_big_set(members):
        column = column.then(_TO_INTEGER)
    dtype = _type_of(column)
    keys = np.unique(members.astype(dtype))
    is_member = lookup(column, keys, np.ones(len(keys), np.float32), np.float32(0))
    ends, order = _pieces(is_member, categories)
    truth = is_member.values[order] == 1
    if isinstance(column, Lookup):
        truth |= np.isnan(column.values[order]) & nodes.missing_is_true[node]
    elif np.isnan(column(np.array([np.nan]))[0]):
        truth[-1] = nodes.missing_is_true[node]
    return _join(np.array([node]), truth[np.newaxis], ends[np.newaxis])


def is_big_set(members: Vector) -> bool:
    """Return whether the runtime looks integers up in a set, for which it truncates values.

    It tests smaller sets for equality, member by member.
    """
    return len(members) > _MAX_TESTS or bool(np.any((members < 0) | (members > _MAX_TESTS)))


def _pieces(column: Lookup, categories: Array | None) -> tuple[Keys, Indices]:
    """Divide the keys into alternating gaps and known values.

    Returns
    -------
    ends : (2 n_keys,)
        Starts and ends of known values.
    order : (2 n_keys + 2,)
        Position in `values` for each piece; the last is the missing value.
    """
    count = len(column.keys)
    lows, highs = known_keys(column, categories)
    turn = np.argsort(lows, kind="stable")
    ends = np.column_stack([lows[turn], highs[turn]]).ravel()
    known = np.column_stack([np.full(count, count), turn]).ravel()
    return ends, np.append(known, [count, count + 1])


def known_keys(column: Lookup, categories: Array | None) -> tuple[Keys, Keys]:
    """Return the feature's own keys [low, high) for each key of a lookup."""
    if categories is None:
        return _equal_range(column.chain, column.keys)
    lows = np.searchsorted(categories, column.keys).astype(np.int64)
    return lows, lows + 1


def _compare(nodes: Nodes, chosen: Indices, values: Array) -> Truth:
    """Compare values, (n_values,), with the thresholds of nodes: (n_chosen, n_values)."""
    thresholds = nodes.thresholds[chosen].astype(values.dtype)[:, np.newaxis]
    order = np.where(values < thresholds, 0, np.where(values == thresholds, 1, 2))
    modes = nodes.modes[chosen][:, np.newaxis]
    unordered = nodes.missing_is_true[chosen][:, np.newaxis] | (modes == Mode.NEQ)
    compared: Truth = np.where(np.isnan(values), unordered, _TRUTH[modes, order])
    return compared


def _join(nodes: Indices, truth: Truth, ends: Keys) -> KeyRuns:
    """Join adjacent pieces that are true.

    Parameters
    ----------
    nodes : (n,)
    truth : (n, n_ends + 2)
        Truth of the pieces before, between and after the ends, and of the missing value.
    ends : (n, n_ends)
    """
    n = len(nodes)
    borders = np.column_stack(
        [np.full(n, FIRST), ends, np.full(n, MISSING), np.full(n, END)]
    )  # (n, n_ends + 3)
    is_empty = borders[:, 1:] == borders[:, :-1]
    truth = truth & ~is_empty
    edge = np.zeros((n, 1), dtype=bool)
    before, after = np.hstack([edge, truth[:, :-1]]), np.hstack([truth[:, 1:], edge])
    row, start = np.nonzero(truth & ~before)
    _, stop = np.nonzero(truth & ~after)
    return KeyRuns(nodes[row], borders[row, start], borders[row, stop + 1])


def _equal_range(chain: FeatureSteps, values: Array) -> tuple[Keys, Keys]:
    """Return the keys [low, high) for which the chain has each value.

    Below `low` a rising chain is less than the value, and a falling one greater.
    """
    if not chain.steps and chain.dtype == values.dtype and values.dtype.kind == "f":
        larger = np.nextafter(values, np.array(np.inf, values.dtype)).astype(np.float64)
        highs = np.where(np.isposinf(values), MISSING, key_of(larger))
        return key_of(values.astype(np.float64)), highs
    if chain.sign < 0:
        return (
            _bisect(chain, lambda column: column > values, len(values)),
            _bisect(chain, lambda column: column >= values, len(values)),
        )
    return (
        _bisect(chain, lambda column: column < values, len(values)),
        _bisect(chain, lambda column: column <= values, len(values)),
    )


def _bisect(chain: FeatureSteps, holds: Callable[[Array], Truth], count: int) -> Keys:
    """Return the first key at which each condition turns false: (count,)."""
    first, last = range_of(chain.dtype)
    low, high = (np.full(count, end, dtype=np.int64) for end in (first, last + 1))
    while np.any(low < high):
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        true = holds(chain(value_of(middle)))
        low = np.where(true & (low < high), middle + 1, low)
        high = np.where(true, high, middle)
    return np.where(low > last, MISSING, np.where(low == first, FIRST, low))
