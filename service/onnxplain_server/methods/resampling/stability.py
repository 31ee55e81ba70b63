"""Stability: which conclusions from numbers also hold in their replicates, and ranks' intervals.

Ranks have intervals by comparisons with all others: a feature is at least behind those that are
larger beyond chance, and at most before those that are smaller. Beyond chance: the simultaneous
band of all differences to the feature, see `bands`.

Mogstad, Romano, Shaikh and Wilhelm (2024), "Inference for Ranks with Applications to Mobility
across Neighbourhoods and Academic Achievement across Countries", Review of Economic Studies 91(1),
476-518. doi:10.1093/restud/rdad006
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.resampling.bands import Deviations

STABLE_SHARE = 0.95
"""Share of replicates from which a conclusion is stable."""
_TIE = 1e-9
"""Differences up to this share of the largest number are roundings of numbers that tie."""
_MOST_RANKS = 50
"""Features of an output that have ranks, the largest first: each is compared with all."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Conclusion from numbers; see `Conclusion` in the contract.

    Attributes
    ----------
    kind : str
        RANK, STRONGEST_PAIR or SLOPE.
    """

    kind: str
    features: tuple[str, ...]
    output_name: str
    replicate_share: float
    group: str = ""
    rank: int = 0
    rank_lower: int = 0
    rank_upper: int = 0
    sign: int = 0

    @property
    def is_stable(self) -> bool:
        """Return whether nearly all replicates say the same."""
        return self.replicate_share >= STABLE_SHARE


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """Sizes of effects, and their replicates.

    Attributes
    ----------
    features : sequence of tuple of str
    values : (n_effects, n_outputs)
        Not negative; NaN where unknown.
    replicates : (n_replicates, n_effects, n_outputs)
    output_names : sequence of str
    """

    features: Sequence[tuple[str, ...]]
    values: Matrix
    replicates: Array
    output_names: Sequence[str]

    def by_output(self) -> Iterator[tuple[str, Vector, Matrix, list[tuple[str, ...]]]]:
        """Yield values and replicates of each output, of the effects that are known."""
        for k, name in enumerate(self.output_names):
            replicates = self.replicates[:, :, k]
            known = np.flatnonzero(np.isfinite(self.values[:, k]) & np.isfinite(replicates).all(0))
            features = [self.features[i] for i in known.tolist()]
            if len(replicates) > 1 and known.size and self.values[known, k].any():
                yield name, self.values[known, k], replicates[:, known], features


def ranks(sizes: Sizes, level: float, unit_count: float) -> Iterator[Conclusion]:
    """Yield the ranks of the largest effects of each output, the first one first.

    Parameters
    ----------
    level : float
        Of the intervals of ranks.
    unit_count : float
        See `Deviations.band`.
    """
    for output, values, replicates, features in sizes.by_output():
        around, tie = replicates - replicates.mean(axis=0), _TIE * values.max()
        for at in np.argsort(-values, kind="stable")[:_MOST_RANKS].tolist():
            rank = int((values > values[at] + tie).sum()) + 1
            same = (replicates > replicates[:, [at]] + tie).sum(axis=1) + 1 == rank
            differences = Deviations()
            differences.add((around - around[:, [at]])[:, :, None], values.max(keepdims=True))
            band = differences.band((values - values[at])[:, None], level, unit_count)
            yield Conclusion(
                "RANK",
                features[at],
                output,
                float(same.mean()),
                rank=rank,
                rank_lower=int((band.simultaneous_lower > 0).sum()) + 1,
                rank_upper=len(values) - int((band.simultaneous_upper < 0).sum()),
            )


def strongest(sizes: Sizes) -> Iterator[Conclusion]:
    """Yield the strongest pair of each output."""
    for output, values, replicates, features in sizes.by_output():
        tie = _TIE * values.max()
        at = int(np.argmax(values >= values.max() - tie))
        others = np.delete(replicates, at, axis=1).max(axis=1, initial=-np.inf)
        share = float((replicates[:, at] > others + tie).mean())
        yield Conclusion("STRONGEST_PAIR", features[at], output, share)


def slope_weights(points: Array, row_weights: Vector) -> Vector | None:
    """Return what each point adds to the rise of the line through a curve: (n_points,).

    That is the rise over a standard deviation of the points. None of texts, and of fewer than two
    points with rows.
    """
    if points.dtype == object:
        return None
    weights = np.where(np.isfinite(points), row_weights, 0.0)
    if np.count_nonzero(weights) < 2 or not np.isfinite(weights.sum()):
        return None
    weights /= weights.max()
    places = np.where(weights > 0, points, 0.0)
    apart = places - np.average(places, weights=weights)
    spread = float(weights @ apart**2)
    # Where squares of the points are beyond float64, or their distances below it, no slope is told.
    if not 0 < spread < np.inf:
        return None
    rise: Vector = weights * apart / np.sqrt(spread * weights.sum())
    return rise


def slopes(  # noqa: PLR0917 - a curve, and its replicates
    features: tuple[str, ...],
    group: str,
    output_names: Sequence[str],
    values: Vector,
    replicates: Matrix,
    magnitude: Vector,
) -> Iterator[Conclusion]:
    """Yield the signs of the slopes of a curve, with their replicates.

    Parameters
    ----------
    values : (n_outputs,)
        As of `slope_weights`.
    replicates : (n_replicates, n_outputs)
    magnitude : (n_outputs,)
        Largest absolute value of the curve: a slope that is a rounding beside it has no sign.
    """
    known = replicates[np.isfinite(replicates).all(axis=1)]
    for k, output in enumerate(output_names):
        if len(known) > 1 and abs(values[k]) > _TIE * magnitude[k]:
            sign = int(np.sign(values[k]))
            share = float((np.sign(known[:, k]) == sign).mean())
            yield Conclusion("SLOPE", features, output, share, group=group, sign=sign)
