"""Bands of partial dependence: curves of rows averaged anew under replicates of the rows.

A curve is a mean over rows, so its replicates are other weighted means of the same curves of
single rows. Where rows are predicted anyway, these curves are all there is to predict. Where they
are not, as with trees, or are very many, a sample of the rows tells the spread: that of a mean over
n rows is that of a mean over m of them times the root of m / n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.model import Note
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
    ReplicatedStatistic,
    Resampling,
    few_rows_notes,
    slope_weights,
    slopes,
)
from onnxplain_server.methods.sampled.replicated_curves import (
    EntrySpread,
    ReplicatedCurves,
    ResampledRows,
)

_MAX_WEIGHTS = 20_000_000
"""Most weights of replicates in memory."""


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
    replicated = [
        ReplicatedCurves(effects, whole, own, resampling, seed, merges=plain is None)
        for whole, own in zip(groups, drawn, strict=True)
    ]
    spreads = []
    for i, (names, grid) in enumerate(zip(options.features, points, strict=True)):
        positions = [features.index(name) for name in names]
        cast = [features.cast(j, values) for j, values in zip(positions, grid, strict=True)]
        known = [] if plain is None else plain.curves[i * len(groups) : (i + 1) * len(groups)]
        along = _along(groups, names, grid, known, is_stepped=options.are_stepped[i])
        own = replicated, positions, cast, along
        spreads.append(EntrySpread.of(*own, is_kept=resampling.is_kept))
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


def _with_bands(
    plain: Result,
    spreads: Sequence[EntrySpread],
    counts: Sequence[float],
    level: float,
    notes: tuple[Note, ...],
) -> Result:
    """Put bands around the curves, which are in the order of entries, then groups."""
    curves: list[PartialDependenceCurve] = []
    differences: list[GroupDifference] = []
    conclusions: list[Conclusion] = []
    kept: list[ReplicatedStatistic] = []
    for place, entry in enumerate(spreads):
        own = plain.curves[place * len(counts) : (place + 1) * len(counts)]
        for curve, deviations, count in zip(own, entry.own, counts, strict=True):
            curves.append(replace(curve, band=deviations.band(curve.values, level, count)))
        for curve, around, count in zip(own, entry.kept, counts, strict=False):
            subject = "PARTIAL_DEPENDENCE", curve.features, curve.group, curve.grid
            numbers = curve.values, curve.values + around, count
            kept.append(ReplicatedStatistic(*subject, *numbers, curve.is_stepped))
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
        replicates=tuple(kept),
    )
