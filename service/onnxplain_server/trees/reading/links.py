"""Link functions of sums over trees: logistic, softmax, exponential; and outputs made of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.trees.reading.ensemble import Ensemble


class LinkFunction(Enum):
    """Link function of a row's scores."""

    LOGISTIC = "LOGISTIC"
    """The logistic function of each score."""
    SOFTMAX = "SOFTMAX"
    """The softmax of all scores."""
    EXPONENTIAL = "EXPONENTIAL"
    """The exponential of each score."""


LOGISTIC, SOFTMAX, EXPONENTIAL = range(3)
"""Numbers of the link functions, for kernels."""
_NUMBERS = {
    LinkFunction.LOGISTIC: LOGISTIC,
    LinkFunction.SOFTMAX: SOFTMAX,
    LinkFunction.EXPONENTIAL: EXPONENTIAL,
}


class AffineMap(NamedTuple):
    """Affine map: matrix · values + offset.

    Attributes
    ----------
    matrix : (n_outputs, n_values)
    offset : (n_outputs,)
    """

    matrix: Matrix
    offset: Vector

    def after(self, inner: AffineMap) -> AffineMap:
        """Return this map of what another map gives."""
        return AffineMap(self.matrix @ inner.matrix, self.matrix @ inner.offset + self.offset)


class LinkScale(NamedTuple):
    """Map from sums of leaves to linked scores, as a tuple that kernels accept.

    Attributes
    ----------
    matrix : (n_scores, n_targets)
    offset : (n_scores,)
        Scores are matrix · targets + offset.
    link : int
        Number of the link function.
    """

    matrix: Matrix
    offset: Vector
    link: int


@dataclass(frozen=True, slots=True, eq=False)
class LinkedEnsemble:
    """Trees whose sums give scores, the link function of the scores, and the outputs made of them.

    Attributes
    ----------
    ensemble : Ensemble
        Its outputs are the scores.
    link : LinkFunction
    combination : AffineMap or None
        Map from linked scores to outputs; None where these are the outputs.
    """

    ensemble: Ensemble
    link: LinkFunction
    combination: AffineMap | None = None

    @property
    def scale(self) -> LinkScale:
        """The map to linked scores, for kernels."""
        trees = self.ensemble
        return LinkScale(trees.matrix, trees.offset, _NUMBERS[self.link])

    def to_outputs(self, targets: Matrix) -> Matrix:
        """Compute outputs from sums of leaves: (n, n_targets) to (n, n_outputs)."""
        outputs: Matrix = self.combine(self.to_linked(targets))
        return outputs

    def combine(self, linked: Array) -> Array:
        """Compute outputs from linked scores, or from averages of them: (..., n_scores)."""
        if self.combination is None:
            return linked
        return linked @ self.combination.matrix.T + self.combination.offset

    def to_linked(self, targets: Matrix) -> Matrix:
        """Compute linked scores from sums of leaves: (n, n_targets) to (n, n_scores)."""
        scores = targets @ self.ensemble.matrix.T + self.ensemble.offset
        with np.errstate(over="ignore"):  # the logistic of a very low score is 0
            if self.link is LinkFunction.LOGISTIC:
                return 1 / (1 + np.exp(-scores))
            if self.link is LinkFunction.EXPONENTIAL:
                return np.exp(scores)
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: Matrix = powers / powers.sum(axis=1, keepdims=True)
        return shares
