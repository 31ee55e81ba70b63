"""Link functions: logistic and softmax, from sums over trees to a classifier's probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.trees.reading.ensemble import Ensemble


class LinkFunction(Enum):
    """Link function of a row's scores."""

    LOGISTIC = "LOGISTIC"
    """The logistic function of each score."""
    SOFTMAX = "SOFTMAX"
    """The softmax of all scores."""


class LinkScale(NamedTuple):
    """Map from sums of leaves to probabilities, as a tuple that kernels accept.

    Attributes
    ----------
    matrix : (n_outputs, n_targets)
    offset : (n_outputs,)
        Scores are matrix · targets + offset.
    is_softmax : bool
        Softmax of all scores; otherwise the logistic function of each.
    """

    matrix: Matrix
    offset: Vector
    is_softmax: bool


@dataclass(frozen=True, slots=True, eq=False)
class LinkedEnsemble:
    """Trees whose sums give scores, and the link function from scores to outputs.

    Attributes
    ----------
    ensemble : Ensemble
        Its outputs are the scores, one per output of the model.
    link : LinkFunction
    """

    ensemble: Ensemble
    link: LinkFunction

    @property
    def scale(self) -> LinkScale:
        """The same map for kernels."""
        trees = self.ensemble
        return LinkScale(trees.matrix, trees.offset, self.link is LinkFunction.SOFTMAX)

    def to_outputs(self, targets: Matrix) -> Matrix:
        """Compute outputs from sums of leaves: (n, n_targets) to (n, n_outputs)."""
        scores = targets @ self.ensemble.matrix.T + self.ensemble.offset
        with np.errstate(over="ignore"):  # the logistic of a very low score is 0
            if self.link is LinkFunction.LOGISTIC:
                return 1 / (1 + np.exp(-scores))
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: Matrix = powers / powers.sum(axis=1, keepdims=True)
        return shares
