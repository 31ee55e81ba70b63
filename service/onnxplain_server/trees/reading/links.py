"""Link functions of sums over trees: logistic, softmax, exponential; and outputs made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, TypeAlias

import numpy as np
from onnx import ModelProto

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.trees.reading.check import magnitude
from onnxplain_server.trees.reading.ensemble import Ensemble, build_ensemble
from onnxplain_server.trees.reading.refusal import Refusal, RefusedError
from onnxplain_server.trees.reading.sums.with_trees import EnsembleWithLinear
from onnxplain_server.trees.reading.walk import walk_graph

Trees: TypeAlias = "Ensemble | EnsembleWithLinear | LinkedEnsemble"
"""All forms in which the trees of a model are known."""

_MAX_EXPONENT = 700.0
"""Largest score whose exponential is certainly in the range of float64."""


class LinkFunction(Enum):
    """Link function of a row's scores."""

    LOGISTIC = "LOGISTIC"
    """The logistic function of each score."""
    SOFTMAX = "SOFTMAX"
    """The softmax of all scores."""
    EXPONENTIAL = "EXPONENTIAL"
    """The exponential of each score."""


LOGISTIC, SOFTMAX, EXPONENTIAL, IDENTITY = range(4)
"""Numbers of the link functions, for kernels; the last one stands for none."""
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

    def combine_errors(self, errors: Matrix) -> Matrix:
        """Bound errors of outputs by those of linked scores: (n, n_scores) to (n, n_outputs)."""
        if self.combination is None:
            return errors
        bound: Matrix = errors @ np.abs(self.combination.matrix).T
        return bound

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


def read_exponentials(model: ModelProto, width: int | None = None) -> LinkedEnsemble | Refusal:
    """Read the trees of a model whose outputs are affine functions of exponentials of sums.

    Parameters are those of `read_ensemble`, as are refusals.
    """
    try:
        graph = walk_graph(model, width)
        if graph.exponents is None:
            return Refusal("the model computes no exponential after its trees")
        return exponential_of(
            build_ensemble(replace(graph, scores=graph.exponents)),
            AffineMap(graph.scores.matrix, graph.scores.offset),
        )
    except RefusedError as refused:
        return Refusal(refused.reason)


def exponential_of(scores: Ensemble, outer: AffineMap) -> LinkedEnsemble | Refusal:
    """Put exponentials behind scores, and outputs behind the exponentials."""
    if not magnitude(scores).max() <= _MAX_EXPONENT:
        return Refusal("an exponential of its sums over trees could exceed the range of float64")
    matrix, offset = outer
    is_plain = np.array_equal(matrix, np.eye(len(offset))) and not offset.any()
    return LinkedEnsemble(scores, LinkFunction.EXPONENTIAL, None if is_plain else outer)


def linked_sums(trees: LinkedEnsemble) -> str:
    """Say what the outputs are, for the receipt."""
    link = trees.link.value.lower()
    if trees.combination is None:
        return f"the {link} of sums over trees"
    return f"linear in the {link} of sums over trees"
