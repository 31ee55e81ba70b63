"""How strongly features act together: mean squares of effects and of what is left of them.

Arrays in, arrays out. Shapes are those of the effects: where they come under
several weights at once, every result has a first axis of replicates. A term is a part of the
prediction, centred; its mean square is the numerator of a statistic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.effects.engine import Joint, Single
from onnxplain_server.effects.weighted_mean import center, mean, mean_square


@dataclass(frozen=True, slots=True, eq=False)
class RatioParts:
    """The two parts of a ratio: (n_outputs,), or (n_replicates, n_outputs); output unit squared.

    `errors`, (n_outputs,), are those of the (first) numerators, where effects are interpolated.
    """

    numerators: Array
    denominators: Array
    errors: Vector | None = None


class Clip:
    """Sets numerators that are rounding error to exactly 0; leaves NaN alone.

    Parameters
    ----------
    threshold, squares : (n_outputs,)
        Threshold, and mean squares of the centred predictions.

    Attributes
    ----------
    clipped_share : float
        Largest share of the mean square that the last call has set to 0; 0 where that is
        negligible.
    """

    def __init__(self, threshold: Vector, squares: Vector) -> None:
        self._threshold = threshold
        self._squares = squares
        self.clipped_share = 0.0

    def __call__(self, numerators: Array) -> Array:
        """Clip; shape is kept."""
        is_below = numerators < self._threshold
        own = np.where(is_below, numerators, 0.0).reshape(-1, len(self._threshold))[0]
        lost = np.divide(own, self._squares, out=np.zeros_like(own), where=self._squares > 0)
        self.clipped_share = float(lost.max()) if lost.max() > _NEGLIGIBLE else 0.0
        return np.where(is_below, 0.0, numerators)


_NEGLIGIBLE = 1e-6
"""Share of the mean square: a term of a thousandth of the predictions' standard deviation."""


def clip(outputs: Matrix, weights: Vector, noise: Vector, absolute: float | None) -> Clip:
    """Return what sets numerators to 0 that are only rounding.

    Parameters
    ----------
    noise : (n_outputs,)
        By how much rounding may change an effect; see `Effects.rounding_error`.
    absolute : float or None
        Threshold; None: relative to the predictions, and to the noise.
    """
    squares = mean_square(outputs, weights)
    if absolute is not None:
        return Clip(np.full_like(squares, absolute), squares)
    return Clip(np.maximum(1e-10 * squares, noise**2), squares)


class OneWay:
    """Statistics of single features, one after another, and of what they leave over.

    Parameters
    ----------
    outputs : (n_rows, n_outputs)
    weights : (n_rows,), or (n_replicates, n_rows)
    clip : Clip

    Attributes
    ----------
    left_error : (n_outputs,) or None
        Estimated root mean square error of what is left over, where effects are interpolated.
    """

    def __init__(self, outputs: Matrix, weights: Array, clip: Clip) -> None:
        self._weights = weights
        self._clip = clip
        self._centered = center(outputs, weights)
        self._left = self._centered.copy()
        self.left_error: Vector | None = None
        self.squares = mean(self._centered**2, weights)

    def add(self, single: Single) -> tuple[Array, Array]:
        """Return the terms of a feature's overall interaction and of its importance."""
        own, others = center(single.own, self._weights), center(single.others, self._weights)
        self._left -= own
        self.left_error = add_errors(self.left_error, single.own_error)
        return self._centered - own - others, self._centered - others

    def left(self) -> Array:
        """Return the term of all interactions: what the features added leave over."""
        return self._left

    def parts(self, term: Array, error: Vector | None) -> RatioParts:
        """Measure a term beside the predictions; `error` as that of `Joint`."""
        numerators = self._clip(mean(term**2, self._weights))
        return RatioParts(numerators, self.squares, _of_square(numerators, error))


def of_joint(joint: Joint, weights: Array, clip: Clip) -> tuple[Array, RatioParts]:
    """Return the interaction of a pair or a triple beyond that of fewer features, as term too."""
    term = center(joint.pure, weights)
    numerators = clip(mean(term**2, weights))
    errors = _of_square(numerators, joint.error)
    return term, RatioParts(numerators, mean_square(joint.whole, weights), errors)


def add_errors(first: Vector | None, second: Vector | None) -> Vector | None:
    """Add errors, where there are any."""
    return second if first is None else first if second is None else first + second


def _of_square(numerators: Array, error: Vector | None) -> Vector | None:
    """Error of a mean square, by the triangle inequality, from that of its root: (n_outputs,)."""
    if error is None:
        return None
    bound: Vector = error * (2 * np.sqrt(np.atleast_2d(numerators)[0]) + error)
    return bound
