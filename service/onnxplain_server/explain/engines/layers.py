"""First layers of a request's model: whether hybrid rows are made of their parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onnxplain_server.core.model import Model
from onnxplain_server.core.row_draws import draw
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import unmerged
from onnxplain_server.effects.layers.check import why_not_finite, why_they_differ
from onnxplain_server.effects.layers.model import FirstLayers
from onnxplain_server.effects.layers.rows import KnownRows
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.explain.prediction.model import PredictionModel
from onnxplain_server.explain.prediction.trees import affine_predictions
from onnxplain_server.explain.resources import Resources
from onnxplain_server.trees.reading.refusal import Refusal

_CHECKED_ROWS = 200
MADE_OF_PARTS = (
    "the first layers of the model are computed once for each value of a feature, and each "
    "predicted row takes what follows them"
)
"""For the receipt."""


def by_parts(
    predictor: Predictor, features: Features, resources: Resources
) -> tuple[Predictor, str]:
    """Let hybrid rows be made of first layers where that saves time; say so, or why not."""
    first = choose_layers(predictor.model, features, resources)
    if isinstance(first, Refusal):
        return predictor, f"; whole rows are predicted, because {first.reason}"
    if first is None:
        return predictor, ""
    return predictor.by_parts(KnownRows(first)), f"; {MADE_OF_PARTS}"


def choose_layers(
    model: Model, features: Features, resources: Resources
) -> FirstLayers | Refusal | None:
    """Return the first layers where hybrid rows are made of them.

    None where a model has none, or none that save time; a refusal says why those that it has are
    not used.
    """
    if resources.call_threads is not None:
        return None  # rows go to the processes that predict
    first = resources.first_layers()
    if isinstance(first, Refusal):
        return None
    if not isinstance(model, PredictionModel):
        return _check(first, model, features, resources) or first
    if first.has_sums and affine_predictions(model.predictions) is None:
        return None  # a condition may flip by a rounding
    refusal = _check(first, model.source, features, resources)
    return refusal or replace(first, rest=model.of(first.rest))


def _check(
    first: FirstLayers, model: Model, features: Features, resources: Resources
) -> Refusal | None:
    """Check sums on all rows, and compare with predictions on some; memoized."""

    def check() -> Refusal | None:
        rows = draw(np.arange(features.n_rows), _CHECKED_ROWS, 0)
        background = unmerged(features.take(rows), np.ones(len(rows)), rows)
        reason = why_not_finite(first, features) or why_they_differ(first, model, background)
        return Refusal(reason) if reason else None

    # An equal request on the same table has the same rows.
    key = resources.request_key
    return resources.memo.verdict(f"layers:{key}", check) if key else check()
