"""Additive engine of a request: whether it applies to its model, predictions and table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from onnxplain_server.additive.check import check_terms, refuse_many_cells, refuse_not_finite
from onnxplain_server.additive.engine import Additive, AdditiveSetup, is_quadratic
from onnxplain_server.additive.model import AdditiveModel, TermLink, described
from onnxplain_server.additive.pair_terms import PairTables
from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.model import Model, category_features
from onnxplain_server.core.row_draws import draw
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.explain.prediction.model import PredictionModel
from onnxplain_server.explain.prediction.trees import affine_predictions, not_affine
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.resources import Resources
from onnxplain_server.explain.row_counts import QUADRATIC_ROWS
from onnxplain_server.trees.reading.refusal import Refusal

_CHECKED_ROWS = 200


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveChoice:
    """Additive engine, still without rows.

    Attributes
    ----------
    reason : str
        Why it applies, for the receipt.
    on : callable (Background) -> Additive
    is_quadratic : bool
        Whether the time of effects grows with the square of the rows.
    """

    reason: str
    on: Callable[[Background], Additive]
    is_quadratic: bool


def choose_additive(  # noqa: PLR0917 - the choice depends on all of these
    model: Model,
    features: Features,
    outputs: Indices,
    question: Question,
    resources: Resources,
    ledger: Ledger,
) -> AdditiveChoice | Refusal:
    """Return the additive engine if it applies, or else why it does not."""
    additive = resources.additive()
    if isinstance(additive, Refusal):
        return additive
    source = model.source if isinstance(model, PredictionModel) else model
    explained = _explained(additive, model)
    if isinstance(explained, Refusal):
        return explained
    refusal = _check(additive, source, features, resources)
    if refusal is not None:
        return refusal
    setup = AdditiveSetup(
        PairTables(explained.select(outputs), features),
        tuple(model.output_names[k] for k in outputs),
        category_features(model),
        ledger,
        question.row_count or QUADRATIC_ROWS,
    )
    return AdditiveChoice(
        _reason(explained), lambda rows: Additive(setup, rows), is_quadratic(explained)
    )


def _reason(explained: AdditiveModel) -> str:
    if explained.link is TermLink.IDENTITY:
        result = "effects are exact without predicting"
    else:
        result = "nothing is predicted"
    return f"what is explained is {described(explained)}, so {result}"


def _explained(additive: AdditiveModel, model: Model) -> AdditiveModel | Refusal:
    """Put the request's predictions behind the outputs."""
    if not isinstance(model, PredictionModel):
        return additive
    affine = affine_predictions(model.predictions)
    if affine is None:
        return Refusal(not_affine(model.predictions, described(additive)))
    return additive.after(affine)


def _check(
    additive: AdditiveModel, model: Model, features: Features, resources: Resources
) -> Refusal | None:
    """Check terms on all rows, and compare with predictions on some; memoized."""

    def check() -> Refusal | None:
        rows = draw(np.arange(features.n_rows), _CHECKED_ROWS, 0)
        background = unmerged(features.take(rows), np.ones(len(rows)), rows)
        return (
            refuse_not_finite(additive, features)
            or refuse_many_cells(PairTables(additive, features), features)
            or check_terms(additive, model, background)
        )

    # An equal request on the same table has the same rows.
    key = resources.request_key
    return resources.memo.verdict(f"additive:{key}", check) if key else check()
