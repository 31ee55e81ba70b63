"""Reach of a perturbation weight: range of moved values compared with the observed range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.core.number_texts import share_text
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.methods.swarm.perturbation import JointMove, Move


@dataclass(frozen=True, slots=True)
class Reach:
    """Ranges of values before and after; see `SwarmReach` in the contract. NaN if all are missing.

    Attributes
    ----------
    observed_low, observed_high : float
        Range of the feature in all rows used.
    moved_low, moved_high : float
        Range in the moved rows at the best weight.
    outside_share : float
        Weight share of moved rows with a value outside the observed range, in [0, 1].
    feature : str
        The feature that the ends are of.
    """

    observed_low: float
    observed_high: float
    moved_low: float
    moved_high: float
    outside_share: float
    feature: str = ""


def joint_reach(
    names: Sequence[str], observed: Sequence[Array], moved: Sequence[Array], weights: Vector
) -> Reach:
    """Compare moved values of all features of a group with the observed ranges.

    Parameters
    ----------
    names : sequence of str
        The features.
    observed, moved : sequence of (n_rows,), of (n_moved,)
    weights : (n_moved,)

    Returns
    -------
    Reach
        With the ends of the feature that leaves its range in most rows, the first of equals, and
        the share of the rows in which any does.
    """
    alone = [
        replace(reach(before, after, weights), feature=name)
        for name, before, after in zip(names, observed, moved, strict=True)
    ]
    farthest = max(alone, key=lambda one: one.outside_share)
    outside = np.any([_outside(*values) for values in zip(observed, moved, strict=True)], axis=0)
    return replace(farthest, outside_share=_share(outside, weights))


def reach(observed: Array, moved: Array, weights: Vector) -> Reach:
    """Compare moved values with the observed range.

    Parameters
    ----------
    observed : (n_rows,)
        Values in all rows used.
    moved : (n_moved,)
    weights : (n_moved,)
        Weights of the moved rows.
    """
    share = _share(_outside(observed, moved), weights)
    return Reach(*_ends(observed), *_ends(moved), share)


def _outside(observed: Array, moved: Array) -> Array:
    """Return which values are outside: overflowed ones are, missing ones stay missing."""
    low, high = _ends(observed)
    outside: Array = (moved < low) | (moved > high)
    return outside


def _share(chosen: Array, weights: Vector) -> float:
    total = float(weights.sum())
    return float(weights[chosen].sum()) / total if total > 0 else 0.0


def joint_weights_inside(
    observed: Sequence[Array], move: JointMove, neutral: float
) -> tuple[float, float]:
    """Return the first and last weight that move no row of any feature out of its range."""
    ends = [weights_inside(*own, neutral) for own in zip(observed, move.moves, strict=True)]
    return max(low for low, _ in ends), min(high for _, high in ends)


def weights_inside(observed: Array, move: Move, neutral: float) -> tuple[float, float]:
    """Return the first and last weight that move no row out of the observed range.

    Parameters
    ----------
    observed : (n_rows,)
        Values in all rows used, those of the moved rows among them.
    neutral : float
        Weight that changes nothing, and so moves none out.
    """
    low, high = _ends(observed)
    moving = np.isfinite(move.base) & np.isfinite(move.slope) & (move.slope != 0)
    slope, base = move.slope[moving], move.base[moving]
    with np.errstate(over="ignore", invalid="ignore"):
        ends = np.sort([(low - base) / slope, (high - base) / slope], axis=0)
    first = max(0.0, float(np.max(ends[0], initial=0.0)))
    return min(first, neutral), max(float(np.min(ends[1], initial=np.inf)), neutral)


def _ends(values: Array) -> tuple[float, float]:
    present = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return (float(present.min()), float(present.max())) if len(present) else (np.nan, np.nan)


def extrapolation(harmful: Sequence[tuple[str, str, Reach]]) -> list[Note]:
    """Warn of best weights that move values outside the observed range.

    Parameters
    ----------
    harmful : sequence of (feature and class, text of the best weight, reach)
        Entries of the effects with damage.
    """
    outside = [effect for effect in harmful if effect[2].outside_share > 0]
    if not outside:
        return []
    move = "moves" if len(outside) == 1 else "move"
    feature, weight, worst = max(outside, key=lambda effect: effect[2].outside_share)
    return [
        Note(
            MethodWarning.EXTRAPOLATES,
            f"{len(outside):,} of the {len(harmful):,} most harmful weights {move} values out "
            f"of the observed range. Most rows leave it for {feature} with weight {weight}: "
            f"{share_text(worst.outside_share)} of those moved. Values of "
            f"{worst.observed_low:.4g} to {worst.observed_high:.4g} in the table become "
            f"{worst.moved_low:.4g} to {worst.moved_high:.4g}. "
            "There the result is a stress test of the model, and says "
            "nothing of rows that occur; a smaller weight_limit stays nearer.",
        )
    ]
