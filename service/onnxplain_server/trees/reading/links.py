"""What leads from sums over trees to a classifier's probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.trees.reading.ensemble import Ensemble


class LinkFunction(Enum):
    """A function of a row's scores."""

    LOGISTIC = "LOGISTIC"
    """Of each score by itself."""
    SOFTMAX = "SOFTMAX"
    """Of all scores together."""


class LinkScale(NamedTuple):
    """From what trees add up to probabilities; as a tuple, so that kernels take it.

    Attributes
    ----------
    matrix : (n_outputs, n_targets)
    offset : (n_outputs,)
        Scores are matrix · targets + offset.
    is_softmax : bool
        Whether scores go through a softmax; otherwise through logistics.
    """

    matrix: Matrix
    offset: Vector
    is_softmax: bool


@dataclass(frozen=True, slots=True, eq=False)
class LinkedEnsemble:
    """Trees of which the scores are affine functions, and the outputs functions of the scores.

    Attributes
    ----------
    ensemble : Ensemble
        Of the scores, one per output.
    link : LinkFunction
    """

    ensemble: Ensemble
    link: LinkFunction

    @property
    def scale(self) -> LinkScale:
        """For kernels."""
        trees = self.ensemble
        return LinkScale(trees.matrix, trees.offset, self.link is LinkFunction.SOFTMAX)

    def answer(self, targets: Matrix) -> Matrix:
        """Outputs from what the trees add up: (n, n_targets) to (n, n_outputs)."""
        scores = targets @ self.ensemble.matrix.T + self.ensemble.offset
        with np.errstate(over="ignore"):  # the logistic of a very low score is 0
            if self.link is LinkFunction.LOGISTIC:
                return 1 / (1 + np.exp(-scores))
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: Matrix = powers / powers.sum(axis=1, keepdims=True)
        return shares
