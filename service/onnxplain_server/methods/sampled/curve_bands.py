"""Bands of partial dependence: curves of rows averaged anew under replicates of the rows.

A curve is a mean over rows, so its replicates are other weighted means of the same curves of
single rows. Where rows are predicted anyway, these curves are all there is to predict. Where they
are not, as with trees, or are very many, a sample of the rows tells the spread: that of a mean over
n rows is that of a mean over m of them times the root of m / n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.core.row_draws import draw
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Effects
from onnxplain_server.effects.grids import rows_near
from onnxplain_server.methods.partial_dependence import (
    GroupDifference,
    Options,
    PartialDependenceCurve,
    Result,
    RowGroup,
    averaged,
)
from onnxplain_server.methods.resampling import (
    Conclusion,
    Deviations,
    Resampling,
    RowUnits,
    bootstrap_counts,
    few_rows_notes,
    slope_weights,
    slopes,
)

SAMPLED_UNITS, _FEWEST_CLUSTERS, _SAMPLED_ROWS = 500, 200, 1_000
"""Rows that tell the spread where curves of rows are not predicted anyway: so many single ones; of
clusters as many, of large ones fewer, but no fewer than some. The standard error of a standard
error is 3 % from 500 units, and 5 % from 200."""
_MAX_WEIGHTS = 20_000_000
"""Most weights of replicates in memory."""
_MAX_NUMBERS = 4_000_000
"""Most curves of rows, or replicates of points, in memory."""


@dataclass(frozen=True, slots=True, eq=False)
class ResampledRows:
    """Rows of a group one by one, and what replicates draw of them.

    Attributes
    ----------
    group : str
    rows : Background
        Unmerged.
    units : RowUnits
    """

    group: str
    rows: Background
    units: RowUnits

    def sample(self, seed: int) -> ResampledRows:
        """Draw the rows that tell the spread: those of some units, or all."""
        numbers = np.unique(self.units.keys)
        count = _SAMPLED_ROWS * len(numbers) // len(self.rows)
        count = min(max(count, _FEWEST_CLUSTERS), SAMPLED_UNITS)
        drawn = numbers[draw(numbers, count, seed)]
        rows = np.flatnonzero(np.isin(self.units.keys, drawn))
        if len(rows) == len(self.rows):
            return self
        return replace(self, rows=self.rows.take(rows), units=self.units.take(rows))


def are_all_averaged(
    groups: Sequence[ResampledRows], resampling: Resampling, *, predicts: bool
) -> bool:
    """Return whether the curves of all rows are predicted, and give the averages too."""
    row_count = sum(len(group.rows) for group in groups)
    return predicts and row_count * resampling.repeat_count <= _MAX_WEIGHTS


def cost(points: Sequence[tuple[Array, ...]], groups: Sequence[ResampledRows]) -> int:
    """Return the number of rows that the curves of rows take."""
    return sum(len(group.rows) for group in groups) * sum(len(grid[0]) for grid in points)


def compute(  # noqa: PLR0917 - as without bands, and what replicates depend on
    effects: Effects,
    options: Options,
    points: Sequence[tuple[Array, ...]],
    groups: Sequence[ResampledRows],
    seed: int,
    plain: Result | None,
) -> Result:
    """Compute the curve over each grid, its bands, and the differences between groups.

    Parameters
    ----------
    points : one grid per entry of `options.features`
    groups : sequence of ResampledRows
        All rows.
    plain : Result or None
        Curves without bands; None where the curves of all rows give them.
    """
    resampling, features = options.resampling, effects.background.features
    drawn = [group if plain is None else group.sample(seed) for group in groups]
    pairs = zip(groups, drawn, strict=True)
    merges = plain is None
    replicated = [
        _Replicated(effects, whole, own, resampling, seed, merges=merges) for whole, own in pairs
    ]
    spreads = []
    for i, (names, grid) in enumerate(zip(options.features, points, strict=True)):
        positions = [features.index(name) for name in names]
        cast = [features.cast(j, values) for j, values in zip(positions, grid, strict=True)]
        known = [] if plain is None else plain.curves[i * len(groups) : (i + 1) * len(groups)]
        along = _along(groups, names, grid, known, is_stepped=options.are_stepped[i])
        spreads.append(_EntrySpread.of(replicated, positions, cast, along))
    if plain is None:
        averages = [[entry.values[g] for entry in spreads] for g in range(len(groups))]
        of = [RowGroup(group.group, group.rows) for group in groups]
        plain = averaged(effects, options, points, of, averages)
    counts = [group.unit_count for group in replicated]
    lightest = min(groups, key=lambda g: g.units.effective_count(g.rows.weights))
    notes = few_rows_notes(resampling, lightest.rows.weights, lightest.units)
    return _with_bands(plain, spreads, counts, resampling.confidence_level, notes)


def _along(
    groups: Sequence[ResampledRows],
    names: tuple[str, ...],
    grid: tuple[Array, ...],
    known: Sequence[PartialDependenceCurve],
    *,
    is_stepped: bool,
) -> list[Vector]:
    """Return what points add to slopes: nothing where there is none; `known` are plain curves."""
    if len(names) > 1:
        return [np.zeros(len(grid[0])) for _ in groups]
    near = [curve.row_weights for curve in known] or [
        rows_near(group.rows, names, grid, is_stepped=is_stepped) for group in groups
    ]
    found = [None if weights is None else slope_weights(grid[0], weights) for weights in near]
    return [np.zeros(len(grid[0])) if each is None else each for each in found]


class _Replicated:
    """Replicates of the curves of a group.

    Parameters
    ----------
    effects : Effects
    whole, drawn : ResampledRows
        All rows, and those that tell the spread.
    resampling : Resampling
    seed : int
    merges : bool
        Whether rows that are equal but for what is moved are predicted once.
    """

    def __init__(
        self,
        effects: Effects,
        whole: ResampledRows,
        drawn: ResampledRows,
        resampling: Resampling,
        seed: int,
        *,
        merges: bool,
    ) -> None:
        weights = drawn.rows.weights
        self.unit_count = whole.units.effective_count(whole.rows.weights)
        self._scale = np.sqrt(drawn.units.effective_count(weights) / self.unit_count)
        self._effects, self._merges = effects.restrict(drawn.rows), merges
        counts = bootstrap_counts(drawn.units, seed, range(resampling.repeat_count)) * weights
        totals = counts.sum(axis=1, keepdims=True)
        self._shares = np.divide(counts, totals, out=np.full_like(counts, np.nan), where=totals > 0)
        self._own_shares = weights / weights.sum()

    def deviations(self, positions: Sequence[int], points: Sequence[Array]) -> tuple[Array, Matrix]:
        """Return deviations of replicates from their mean, and the curve of the rows.

        Returns
        -------
        (n_replicates, n_points, n_outputs), (n_points, n_outputs)
        """
        individual = self._individual(positions, points)
        shape, flat = individual.shape[1:], individual.reshape(len(individual), -1)
        values = self._own_shares @ flat
        # Of differences to the curve, so that large averages do not cost digits.
        replicates = self._shares @ (flat - values)
        deviations = self._scale * (replicates - np.nanmean(replicates, axis=0))
        return deviations.reshape(-1, *shape), values.reshape(shape)

    def _individual(self, positions: Sequence[int], points: Sequence[Array]) -> Cube:
        if not self._merges:
            return self._effects.individual(positions, points)
        merged, inverse = self._effects.background.merge_ignoring(positions)
        return self._effects.restrict(merged).individual(positions, points)[inverse]

    def points_at_once(self) -> int:
        """Return how many points are computed at once, which bounds memory."""
        longest = max(self._shares.shape) * len(self._effects.output_names)
        return max(1, _MAX_NUMBERS // int(longest))


@dataclass(frozen=True, slots=True, eq=False)
class _EntrySpread:
    """Spread of the curves of one entry, in the order of the groups.

    Attributes
    ----------
    values : tuple of (n_points, n_outputs)
        Curves of the rows that tell the spread.
    own : tuple of Deviations
    differences : tuple of Deviations
        Of each group but the first one, less the first one.
    slopes : tuple of (n_replicates, n_outputs)
        Deviations of the slopes of the curves.
    along : sequence of (n_points,)
        What each point adds to a slope.
    """

    values: tuple[Matrix, ...]
    own: tuple[Deviations, ...]
    differences: tuple[Deviations, ...]
    slopes: tuple[Matrix, ...]
    along: Sequence[Vector]

    @classmethod
    def of(
        cls,
        groups: Sequence[_Replicated],
        positions: Sequence[int],
        points: Sequence[Array],
        along: Sequence[Vector],
    ) -> _EntrySpread:
        """Compute it, some points after others."""
        size, parts, slopes = min(group.points_at_once() for group in groups), [], []
        own = tuple(Deviations() for _ in groups)
        differences = tuple(Deviations() for _ in groups[1:])
        for start in range(0, len(points[0]), size):
            some = [values[start : start + size] for values in points]
            found = [group.deviations(positions, some) for group in groups]
            magnitude = np.max([np.abs(values).max(axis=0) for _, values in found], axis=0)
            for each, (deviations, _) in zip(own, found, strict=True):
                each.add(deviations, magnitude)
            for each, (deviations, _) in zip(differences, found[1:], strict=True):
                each.add(deviations - found[0][0], magnitude)
            parts.append([values for _, values in found])
            slopes.append([
                np.einsum("p,rpk->rk", each[start : start + size], deviations)
                for each, (deviations, _) in zip(along, found, strict=True)
            ])  # fmt: skip
        whole = tuple(map(np.concatenate, zip(*parts, strict=True)))
        total: tuple[Matrix, ...] = tuple(map(sum, zip(*slopes, strict=True)))  # type: ignore[arg-type] # of arrays
        return cls(whole, own, differences, total, along)


def _with_bands(
    plain: Result,
    spreads: Sequence[_EntrySpread],
    counts: Sequence[float],
    level: float,
    notes: tuple[Note, ...],
) -> Result:
    """Put bands around the curves, which are in the order of entries, then groups."""
    curves: list[PartialDependenceCurve] = []
    differences: list[GroupDifference] = []
    conclusions: list[Conclusion] = []
    for place, entry in enumerate(spreads):
        own = plain.curves[place * len(counts) : (place + 1) * len(counts)]
        for curve, deviations, count in zip(own, entry.own, counts, strict=True):
            curves.append(replace(curve, band=deviations.band(curve.values, level, count)))
        for curve, along, around in zip(own, entry.along, entry.slopes, strict=True):
            slope = along @ curve.values
            names = curve.features, curve.group, plain.output_names
            largest = np.abs(curve.values).max(axis=0)
            conclusions += slopes(*names, slope, slope + around, largest)
        pairs = zip(own[1:], entry.differences, counts[1:], strict=True)
        for curve, deviations, count in pairs:
            values = curve.values - own[0].values
            band = deviations.band(values, level, min(count, counts[0]))
            of = curve.features, curve.group, own[0].group
            differences.append(GroupDifference(*of, curve.grid, values, band))
    return replace(
        plain,
        curves=tuple(curves),
        differences=tuple(differences),
        conclusions=tuple(conclusions),
        confidence_level=level,
        notes=(*plain.notes, *notes),
    )
