"""Matching of two answers: outputs by name, statistics by what they are about, curves by points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.resampling import ReplicatedStatistic

Identity = tuple[str, tuple[str, ...], str]
"""Kind, features in alphabetical order, and group."""


@dataclass(frozen=True, slots=True)
class OutputPair:
    """Output that both sides have: its name, and its place in the reference and in the answer."""

    name: str
    reference: int
    answer: int


@dataclass(frozen=True, slots=True, eq=False)
class KeptStatistics:
    """Statistics of one explanation, with names of the outputs of each."""

    output_names: tuple[str, ...]
    statistics: tuple[ReplicatedStatistic, ...]


@dataclass(frozen=True, slots=True)
class UnmatchedStatistic:
    """Statistic that is not compared; see the contract. `kind` is empty for a whole output."""

    kind: str
    features: tuple[str, ...]
    group: str
    output_name: str
    reason: str


class MatchedStatistics(NamedTuple):
    """Statistics that both sides have, at the same outputs, and what one side lacks.

    Attributes
    ----------
    outputs : list of OutputPair
    pairs : list of (ReplicatedStatistic, ReplicatedStatistic)
        Of the reference and of the answer.
    unmatched : list of UnmatchedStatistic
    """

    outputs: list[OutputPair]
    pairs: list[tuple[ReplicatedStatistic, ReplicatedStatistic]]
    unmatched: list[UnmatchedStatistic]


def match(
    reference: KeptStatistics, answer: KeptStatistics, *, are_classes: bool
) -> MatchedStatistics:
    """Pair the statistics of two explanations."""
    names = reference.output_names, answer.output_names
    outputs = pair_outputs(*names, are_classes=are_classes)
    before, after = (
        {identity(each): each for each in side.statistics} for side in (reference, answer)
    )
    unmatched = [
        not_matched(each, f"the {other} does not have it")
        for own, theirs, other in ((after, before, "reference"), (before, after, "answer"))
        for key, each in own.items()
        if key not in theirs
    ]
    places = [[o.reference for o in outputs], [o.answer for o in outputs]]
    pairs = [
        (take_outputs(before[key], places[0]), take_outputs(each, places[1]))
        for key, each in after.items()
        if key in before and outputs
    ]
    lacking = list(_unpaired(reference, answer, outputs))
    return MatchedStatistics(outputs, pairs, [*lacking, *unmatched])


def _unpaired(
    reference: KeptStatistics, answer: KeptStatistics, outputs: Sequence[OutputPair]
) -> Iterator[UnmatchedStatistic]:
    """Yield the outputs that one side lacks."""
    places = {pair.answer for pair in outputs}, {pair.reference for pair in outputs}
    sides = (answer, "reference"), (reference, "answer")
    for own, (side, other) in zip(places, sides, strict=True):
        for k, name in enumerate(side.output_names):
            if k not in own:
                reason = f"the {other} has no output of this name"
                yield UnmatchedStatistic("", (), "", name, reason)


def not_matched(statistic: ReplicatedStatistic, reason: str) -> UnmatchedStatistic:
    """Return a statistic as one that is not compared."""
    return UnmatchedStatistic(statistic.kind, statistic.features, statistic.group, "", reason)


def identity(statistic: ReplicatedStatistic) -> Identity:
    """Return what a statistic is about."""
    return statistic.kind, tuple(sorted(statistic.features)), statistic.group


def pair_outputs(
    reference: Sequence[str], answer: Sequence[str], *, are_classes: bool
) -> list[OutputPair]:
    """Pair outputs by name; the only ones of both sides also where names differ, unless classes."""
    if len(reference) == len(answer) == 1 and not are_classes:
        return [OutputPair(answer[0], 0, 0)]
    return [
        OutputPair(name, reference.index(name), k)
        for k, name in enumerate(answer)
        if name in reference
    ]


def take_outputs(statistic: ReplicatedStatistic, outputs: Sequence[int]) -> ReplicatedStatistic:
    """Keep some outputs of a statistic."""
    columns = list(outputs)
    values, replicates = statistic.values[:, columns], statistic.replicates[:, :, columns]
    return replace(statistic, values=values, replicates=replicates)


def at_common_points(
    reference: ReplicatedStatistic, answer: ReplicatedStatistic
) -> tuple[ReplicatedStatistic, ReplicatedStatistic] | None:
    """Return both curves at the points of the reference that the answer's reaches.

    A curve over numbers lies on the lines between its points; one that is stepped keeps the value
    of the last point. Surfaces, with their features in either order, are compared where both have a
    point. None where there is none.
    """
    if not len(reference.grid) == len(answer.grid) == len(answer.features):
        return None
    if reference.features != answer.features:
        order = [answer.features.index(name) for name in reference.features]
        grid = tuple(answer.grid[j] for j in order)
        answer = replace(answer, features=reference.features, grid=grid)
    if _are_equal(reference.grid, answer.grid):
        return reference, answer
    if len(reference.grid) != 1:
        return _at_equal_points(reference, answer)
    places, shares = _places(reference.grid[0], answer.grid[0], is_stepped=answer.is_stepped)
    if not len(places):
        return None
    own = _take_points(reference, places)
    moved = np.einsum("pq,rqk->rpk", shares, answer.replicates)
    return own, replace(answer, grid=own.grid, values=shares @ answer.values, replicates=moved)


def _at_equal_points(
    reference: ReplicatedStatistic, answer: ReplicatedStatistic
) -> tuple[ReplicatedStatistic, ReplicatedStatistic] | None:
    """Return both surfaces at the points of the reference that the answer's has too."""
    at = {point: i for i, point in enumerate(_points(answer))}
    pairs = [(i, at[point]) for i, point in enumerate(_points(reference)) if point in at]
    if not pairs:
        return None
    own, theirs = np.array(pairs).T
    return _take_points(reference, own), _take_points(answer, theirs)


def _points(statistic: ReplicatedStatistic) -> list[tuple[object, ...]]:
    """Return the coordinates of each point; None for a missing value."""
    columns = [
        [None if value != value else value for value in axis.tolist()]  # noqa: PLR0124 - NaN
        for axis in statistic.grid
    ]
    return list(zip(*columns, strict=True))


def _take_points(statistic: ReplicatedStatistic, places: Array) -> ReplicatedStatistic:
    return replace(
        statistic,
        grid=tuple(axis[places] for axis in statistic.grid),
        values=statistic.values[places],
        replicates=statistic.replicates[:, places],
    )


def _are_equal(first: tuple[Array, ...], second: tuple[Array, ...]) -> bool:
    return all(
        a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype != object)
        for a, b in zip(first, second, strict=True)
    )


def _places(points: Array, own: Array, *, is_stepped: bool) -> tuple[Array, Matrix]:
    """Return which points a curve reaches, and the shares of its own points in each.

    Parameters
    ----------
    points : (n_points,)
    own : (n_own,)

    Returns
    -------
    (n_reached,), (n_reached, n_own)
    """
    if np.dtype(object) in {points.dtype, own.dtype}:
        known = own.tolist() if own.dtype == points.dtype else []
        at = {value: i for i, value in enumerate(known)}
        found = [(i, at[value]) for i, value in enumerate(points.tolist()) if value in at]
        places = np.array([i for i, _ in found], np.intp)
        return places, np.eye(len(own))[[j for _, j in found]]
    order = np.argsort(own, kind="stable")  # NaN last
    order = order[~np.isnan(own[order])]
    rows = [_shares(float(x), own, order, is_stepped=is_stepped) for x in points]
    places = np.array([i for i, row in enumerate(rows) if row is not None], np.intp)
    kept = [row for row in rows if row is not None]
    return places, np.array(kept).reshape(-1, len(own))


def _shares(x: float, own: Array, order: Array, *, is_stepped: bool) -> Vector | None:
    """Return the shares of own points in the value at x: (n_own,); None where it is not reached."""
    shares = np.zeros(len(own))
    if np.isnan(x):
        missing = np.flatnonzero(np.isnan(own))
        shares[missing[:1]] = 1.0
        return shares if len(missing) else None
    ascending = own[order]
    after = int(np.searchsorted(ascending, x))
    if after < len(ascending) and ascending[after] == x:
        shares[order[after]] = 1.0
        return shares
    if after == 0 or (after == len(ascending) and not is_stepped):
        return None
    if is_stepped:
        shares[order[after - 1]] = 1.0
        return shares
    low, high = ascending[after - 1], ascending[after]
    share = (x - low) / (high - low)
    shares[order[after - 1]], shares[order[after]] = 1 - share, share
    return shares
