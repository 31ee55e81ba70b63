"""Interaction strength: mean squares of effects and of their residual terms.

Arrays in, arrays out. With several sets of weights at once, every result has a first axis of
replicates. A term is a centred part of the prediction; its mean square is a numerator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.effects.engine import Joint, Single
from onnxplain_server.effects.weighted_mean import center, mean, mean_square


class Terms:
    r"""Terms of single features, of effects that are centred unless `weights` is None: section 8.1.

    The mean square of a term about its mean is a numerator, that of f the denominator.

    Parameters
    ----------
    outputs : (n_rows, n_outputs)
    weights : (n_rows,), or (n_replicates, n_rows), or None

    Attributes
    ----------
    f : (n_rows, n_outputs), or (n_replicates, n_rows, n_outputs)
    total : as f
        Of H²: f - Σ_j F_j over the features added.
    total_error : (n_outputs,) or None
        Estimated root mean square interpolation error of `total`; None without.
    """

    def __init__(self, outputs: Matrix, weights: Array | None = None) -> None:
        self._weights = weights
        self.f = self._shifted(outputs)
        self.total = self.f.copy()
        self.total_error: Vector | None = None

    def add(self, single: Single) -> tuple[Array, Array]:
        r"""Add a feature; return the terms of H²_j, f - F_j - F_\j, and of importance, f - F_\j."""
        own, others = self._shifted(single.own), self._shifted(single.others)
        self.total -= own
        self.total_error = add_errors(self.total_error, single.own_error)
        return self.f - own - others, self.f - others

    def _shifted(self, effect: Array) -> Array:
        return effect if self._weights is None else center(effect, self._weights)


def effects_of_group(joint: Joint) -> tuple[Array, Array]:
    """Return the effects whose mean squares about their means are the parts of H²_jk or H²_jkl.

    The numerator's, F_jk - F_j - F_k, is that of `pure_effect`, or exact by the model's trees.
    """
    return joint.pure, joint.whole


@dataclass(frozen=True, slots=True, eq=False)
class RatioParts:
    """Numerator and denominator: (n_outputs,), or (n_replicates, n_outputs); output unit squared.

    `errors`, (n_outputs,), are interpolation errors of the (first) numerators, or None.
    """

    numerators: Array
    denominators: Array
    errors: Vector | None = None


class Clip:
    """Clipper of numerators: sets rounding errors to exactly 0, and keeps NaN.

    Parameters
    ----------
    threshold, squares : (n_outputs,)
        Threshold, and mean squares of the centred predictions.

    Attributes
    ----------
    clipped_share : float
        Largest share of the mean square that the last call set to 0; 0 if negligible.
    """

    def __init__(self, threshold: Vector, squares: Vector) -> None:
        self._threshold = threshold
        self._squares = squares
        self.clipped_share = 0.0

    def __call__(self, numerators: Array) -> Array:
        """Clip; shape is kept."""
        is_below = numerators < self._threshold
        first = np.where(is_below, numerators, 0.0).reshape(-1, len(self._threshold))[0]
        shares = np.divide(first, self._squares, out=np.zeros_like(first), where=self._squares > 0)
        self.clipped_share = float(shares.max()) if shares.max() > _NEGLIGIBLE else 0.0
        return np.where(is_below, 0.0, numerators)


_NEGLIGIBLE = 1e-6
"""Share of the mean square; such a term is a thousandth of the standard deviation."""


def clip(outputs: Matrix, weights: Vector, noise: Vector, absolute: float | None) -> Clip:
    """Return the clipper for the predictions.

    Parameters
    ----------
    noise : (n_outputs,)
        Largest rounding error of an effect; see `Effects.rounding_error`.
    absolute : float or None
        Threshold; None: relative to the predictions, and to the noise.
    """
    return clip_below(mean_square(outputs, weights), noise, absolute)


def clip_below(squares: Vector, noise: Vector, absolute: float | None) -> Clip:
    """Return the clipper for predictions with these mean squares: (n_outputs,); see `clip`."""
    if absolute is not None:
        return Clip(np.full_like(squares, absolute), squares)
    return Clip(np.maximum(1e-10 * squares, noise**2), squares)


def ratio_parts(
    term: Array, squares: Array, weights: Array, clip: Clip, error: Vector | None
) -> RatioParts:
    """Measure a centred term relative to mean squares; `error` as that of `Joint`."""
    numerators = clip(mean(term**2, weights))
    return RatioParts(numerators, squares, _of_square(numerators, error))


def of_joint(joint: Joint, weights: Array, clip: Clip) -> tuple[Array, RatioParts]:
    """Return term and parts of the pure interaction of a pair or triple."""
    pure, whole = effects_of_group(joint)
    term = center(pure, weights)
    return term, ratio_parts(term, mean_square(whole, weights), weights, clip, joint.error)


def add_errors(first: Vector | None, second: Vector | None) -> Vector | None:
    """Add errors; None is 0."""
    return second if first is None else first if second is None else first + second


def _of_square(numerators: Array, error: Vector | None) -> Vector | None:
    """Bound a mean square's error from that of its root (triangle inequality): (n_outputs,)."""
    if error is None:
        return None
    bound: Vector = error * (2 * np.sqrt(np.atleast_2d(numerators)[0]) + error)
    return bound
