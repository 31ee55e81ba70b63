"""Warnings about statistics that say little: squares out of range, and weak joint effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import listed
from onnxplain_server.core.warnings import MethodWarning

_MAX_LISTED = 5
_LEAST_SQUARE = 1e-290
"""A mean square below it loses digits to rounding near the least number of float64."""


def out_of_range_note(
    output_names: Sequence[str], squares: Vector, spans: Vector, parts: Matrix
) -> tuple[Note, ...]:
    """Warn of outputs whose squares float64 cannot hold: too large, or rounded to 0.

    Parameters
    ----------
    squares : (n_outputs,)
        Mean squares of the centred predictions.
    spans : (n_outputs,)
        Largest less smallest prediction, which are finite.
    parts : (n, n_outputs)
        Numerators and denominators of all statistics.
    """
    wrong = ~np.isfinite(parts).all(axis=0) | ((spans > 0) & (squares < _LEAST_SQUARE))
    if not wrong.any():
        return ()
    names = tuple(name for name, is_wrong in zip(output_names, wrong, strict=True) if is_wrong)
    message = (
        f"Squares of the predictions, or of their effects, are beyond the range of float64 for "
        f"{listed(names)}, so that interactions are infinite, NaN or 0 there. Explain predictions "
        "in another unit, by an expression in prediction that divides or multiplies them."
    )
    return (Note(MethodWarning.SQUARES_OUT_OF_RANGE, message),)


def weak_effects_note(chance: Mapping[tuple[str, ...], float]) -> tuple[Note, ...]:
    """Warn of joint effects that are too weak to divide by.

    Parameters
    ----------
    chance : mapping of features to float
        Share of the joint effect's mean square that is chance, at most 1.
    """
    if not chance:
        return ()
    ranked = sorted(chance, key=lambda names: -chance[names])
    weakest = ", ".join(
        f"{' × '.join(map(repr, names))} ({chance[names]:.0%})" for names in ranked[:_MAX_LISTED]
    )
    more = len(ranked) - _MAX_LISTED
    rest = f" and {more} more" if more > 0 else ""
    message = (
        f"Weak joint effects: {weakest}{rest}. So much of the effect's mean square, by which the "
        "statistic divides, is chance of the rows drawn, so the ratio says little; its interval "
        "allows for that, and may be wide. Compare these by the square root of the numerator, "
        "or raise row_count."
    )
    return (Note(MethodWarning.WEAK_EFFECT, message),)
