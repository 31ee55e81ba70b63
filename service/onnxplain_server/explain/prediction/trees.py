"""Trees of predictions: expressions put behind the sums over trees that the outputs are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.explain.prediction.expressions import Predictions
from onnxplain_server.language import Exponentials, Expression, Linear, exponentials_of, form_of
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.links import (
    AffineMap,
    LinkedEnsemble,
    Trees,
    exponential_of,
    linked_sums,
)
from onnxplain_server.trees.reading.refusal import Refusal
from onnxplain_server.trees.reading.sums.with_trees import SUMS_WITH_LINEAR, EnsembleWithLinear


@dataclass(frozen=True, slots=True, eq=False)
class PredictionTrees:
    """Trees whose outputs are the predictions.

    Attributes
    ----------
    trees : Ensemble, EnsembleWithLinear or LinkedEnsemble
    reason : str
        Why the trees engine applies.
    """

    trees: Trees
    reason: str


def put_behind(predictions: Predictions, trees: Trees) -> PredictionTrees | Refusal:
    """Return the trees of predictions, given those of the model's outputs.

    Exact where all predictions are affine in the outputs, and where all are affine in exponentials
    of sums over trees.
    """
    sums, result = "sums over trees", "effects are exact without predicting"
    if isinstance(trees, LinkedEnsemble):
        sums, result = linked_sums(trees), "nothing is predicted"
    elif isinstance(trees, EnsembleWithLinear):
        sums = SUMS_WITH_LINEAR
    affine = affine_predictions(predictions)
    if affine is not None:
        return PredictionTrees(
            _combined(trees, affine),
            f"each prediction is linear in the model's outputs, which are {sums}, so {result}",
        )
    forms = [exponentials_of(expression) for expression in predictions.expressions]
    known = [form for form in forms if form is not None]
    if not isinstance(trees, Ensemble) or len(known) < len(forms):
        return Refusal(not_affine(predictions, sums))
    return _exponential(predictions, known, trees)


def affine_predictions(predictions: Predictions) -> AffineMap | None:
    """Return the predictions as an affine map of the model's outputs; None if one is none."""
    forms = [form_of(expression) for expression in predictions.expressions]
    linear = [form for form in forms if isinstance(form, Linear)]
    return _map(linear, predictions.positions) if len(linear) == len(forms) else None


def _map(forms: Sequence[Linear], positions: Mapping[str, int]) -> AffineMap:
    matrix = np.zeros((len(forms), max(positions.values()) + 1))
    for row, form in zip(matrix, forms, strict=True):
        for name, coefficient in form.coefficients.items():
            row[positions[name]] += coefficient
    return AffineMap(matrix, np.array([form.constant for form in forms]))


def _combined(trees: Trees, affine: AffineMap) -> Trees:
    if isinstance(trees, LinkedEnsemble):
        own = trees.combination
        return replace(trees, combination=affine if own is None else affine.after(own))
    if isinstance(trees, EnsembleWithLinear):
        linear = trees.linear
        combined = replace(linear, coefficients=affine.matrix @ linear.coefficients)
        return EnsembleWithLinear(_of_sums(trees.ensemble, affine), combined)
    return _of_sums(trees, affine)


def _of_sums(trees: Ensemble, affine: AffineMap) -> Ensemble:
    matrix, offset = affine.after(AffineMap(trees.matrix, trees.offset))
    return replace(trees, matrix=np.ascontiguousarray(matrix), offset=offset)


def _exponential(
    predictions: Predictions, forms: Sequence[Exponentials], trees: Ensemble
) -> PredictionTrees | Refusal:
    """Put exponentials behind sums over trees, and the predictions behind the exponentials."""
    arguments = [argument for form in forms for argument in form.arguments]
    scores = _of_sums(trees, _map(arguments, predictions.positions))
    matrix = np.zeros((len(forms), len(arguments)))
    start = 0
    for row, form in zip(matrix, forms, strict=True):
        row[start : start + len(form.factors)] = form.factors
        start += len(form.factors)
    outer = AffineMap(matrix, np.array([form.constant for form in forms]))
    linked = exponential_of(scores, outer)
    if isinstance(linked, Refusal):
        return linked
    reason = "each prediction is linear in exponentials of sums over trees, so nothing is predicted"
    return PredictionTrees(linked, reason)


def not_affine(predictions: Predictions, sums: str) -> str:
    """Say which prediction is not linear in the outputs, and what these are."""
    first: Expression = next(
        expression
        for expression in predictions.expressions
        if not isinstance(form_of(expression), Linear)
    )
    return f"the prediction {first.text!r} is not linear in the model's outputs, which are {sums}"
