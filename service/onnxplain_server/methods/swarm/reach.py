"""The reach of a weight: how far the values that it makes lie outside those observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.model import Note


@dataclass(frozen=True, slots=True)
class Reach:
    """Values before and after; see `SwarmReach` in the contract. NaN where all are missing.

    Attributes
    ----------
    observed_low, observed_high : float
        Smallest and largest value of the feature in all rows used.
    moved_low, moved_high : float
        The same in the rows moved, with the best weight.
    outside_share : float
        Share of the weight of these rows with a value outside the observed range, in [0, 1].
    """

    observed_low: float
    observed_high: float
    moved_low: float
    moved_high: float
    outside_share: float


def reach(observed: Array, moved: Array, weights: Vector) -> Reach:
    """Compare moved values with those observed.

    Parameters
    ----------
    observed : (n_rows,)
        Of all rows used.
    moved : (n_moved,)
    weights : (n_moved,)
        Of the rows moved.
    """
    low, high = _ends(observed)
    # A value that is missing stays so; one that overflowed is outside.
    outside = (moved < low) | (moved > high)
    total = float(weights.sum())
    share = float(weights[outside].sum()) / total if total > 0 else 0.0
    return Reach(low, high, *_ends(moved), share)


def _ends(values: Array) -> tuple[float, float]:
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return (float(known.min()), float(known.max())) if len(known) else (np.nan, np.nan)


def extrapolation(harmful: Sequence[tuple[str, float, Reach]]) -> list[Note]:
    """Say so where best weights lead outside the observed range.

    Parameters
    ----------
    harmful : sequence of (feature and class, best weight, reach)
        Of the effects that do harm.
    """
    beyond = [one for one in harmful if one[2].outside_share > 0]
    if not beyond:
        return []
    feature, weight, worst = max(beyond, key=lambda one: one[2].outside_share)
    return [
        Note(
            "EXTRAPOLATES",
            f"{len(beyond):,} of the {len(harmful):,} best weights that do harm move values out of "
            f"the observed range. Most rows leave it for {feature} with weight {weight:.4g}: "
            f"{worst.outside_share:.0%} of those moved. Values of {worst.observed_low:.4g} to "
            f"{worst.observed_high:.4g} in the table become {worst.moved_low:.4g} to "
            f"{worst.moved_high:.4g}. There the result is a stress test of the model, and says "
            "nothing of rows that occur; a smaller weight_limit stays nearer.",
        )
    ]
