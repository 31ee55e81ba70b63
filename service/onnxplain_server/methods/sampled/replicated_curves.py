"""Replicates of the curves of rows: what replicates draw, and the spread of each curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Matrix, Vector
from onnxplain_server.core.row_draws import draw
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Effects
from onnxplain_server.methods.resampling import (
    Deviations,
    Resampling,
    RowUnits,
    bootstrap_counts,
)

SAMPLED_UNITS, _FEWEST_CLUSTERS, _SAMPLED_ROWS = 500, 200, 1_000
"""Rows that tell the spread where curves of rows are not predicted anyway: so many single ones; of
clusters as many, of large ones fewer, but no fewer than some. The standard error of a standard
error is 3 % from 500 units, and 5 % from 200."""
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


class ReplicatedCurves:
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
class EntrySpread:
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
    kept : tuple of (n_replicates, n_points, n_outputs)
        Deviations of the curves, where they are kept; else empty.
    along : sequence of (n_points,)
        What each point adds to a slope.
    """

    values: tuple[Matrix, ...]
    own: tuple[Deviations, ...]
    differences: tuple[Deviations, ...]
    slopes: tuple[Matrix, ...]
    along: Sequence[Vector]
    kept: tuple[Array, ...]

    @classmethod
    def of(
        cls,
        groups: Sequence[ReplicatedCurves],
        positions: Sequence[int],
        points: Sequence[Array],
        along: Sequence[Vector],
        *,
        is_kept: bool,
    ) -> EntrySpread:
        """Compute it, some points after others."""
        size, parts, slopes = min(group.points_at_once() for group in groups), [], []
        kept: list[list[Array]] = [[] for _ in groups if is_kept]
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
            for parts_of, (deviations, _) in zip(kept, found, strict=False):
                parts_of.append(deviations)
            parts.append([values for _, values in found])
            slopes.append([
                np.einsum("p,rpk->rk", each[start : start + size], deviations)
                for each, (deviations, _) in zip(along, found, strict=True)
            ])  # fmt: skip
        whole = tuple(map(np.concatenate, zip(*parts, strict=True)))
        total: tuple[Matrix, ...] = tuple(map(sum, zip(*slopes, strict=True)))  # type: ignore[arg-type] # of arrays
        together = tuple(np.concatenate(each, axis=1) for each in kept)
        return cls(whole, own, differences, total, along, together)
