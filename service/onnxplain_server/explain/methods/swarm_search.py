"""Whether a model's weights can be found exactly, and what finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model, Note
from onnxplain_server.core.rows import Features, feeds
from onnxplain_server.core.table import sample_rows
from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.engine import ClassMargin
from onnxplain_server.explain.question import Engine
from onnxplain_server.methods.swarm import (
    LinearStepReader,
    MovedRowPredictor,
    Options,
    Search,
    StepReader,
    TreeStepReader,
)
from onnxplain_server.methods.swarm.perturbation import precision
from onnxplain_server.trees.kernels.summing import sum_leaves
from onnxplain_server.trees.reading.check import disagreement
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.refusal import Refusal

Exact: TypeAlias = Callable[[MovedRowPredictor, Background], StepReader]
"""Makes what reads steps, for rows."""

_CHECKED_ROWS = 200


def exactly(options: Options, request: BoundRequest, features: Features) -> Exact | Refusal:
    """Find what reads steps from the model itself, or say why nothing does.

    Parameters
    ----------
    options : Options
        Resolved.
    features : Features
        Of all rows of the table.
    """
    if request.question.engine is Engine.BLACK_BOX and options.search is not Search.EXACT:
        return Refusal("the engine BLACK_BOX was asked for")
    margin = request.margin()
    if isinstance(margin, Refusal):
        return margin
    if options.loss is not None and not (margin.is_answer and isinstance(margin.trees, Ensemble)):
        return Refusal("the loss is not the same on pieces: the answer is no sum over trees")
    wrong = _mixed(margin, request, features)
    if wrong is not None:
        return wrong
    if isinstance(margin.trees, Ensemble):
        wrong = _disagreement(margin, margin.trees, request, features)
        return wrong or _by_trees(options, request, margin.trees, features)
    return _by_lines(options, request, margin.model, features)


def required(found: Exact | Refusal, path: str) -> Exact:
    """Refuse where nothing reads steps, though it was asked for."""
    if isinstance(found, Refusal):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the search EXACT does not apply, because {found.reason}; leave search out, or take "
            "PUBLISHED",
            path,
        )
    return found


def searched(reason: str) -> Note:
    """Say that weights were tried."""
    return Note(
        "NOT_EXACT",
        f"Weights were found by trying, which can miss some, because {reason}. More of "
        "restart_count, and start UNIFORM, miss less.",
    )


def _mixed(margin: ClassMargin, request: BoundRequest, features: Features) -> Refusal | None:
    """Refuse probabilities of several classes, each from its score alone.

    Where two of them round to 1, the largest score is not that of the class predicted.
    """
    if margin.is_answer or len(margin.model.output_names) == 2:
        return None
    background = _some(features)
    scores = margin.model.predict(feeds(features, background.columns)).astype(np.float64)
    answers = request.unplanned.predict_rows(features, background.columns)
    if np.allclose(softmax(scores, axis=1), answers, rtol=0, atol=1e-4):
        return None
    return Refusal("each class has a probability of its own, and two can round to 1")


def _some(features: Features) -> Background:
    rows = sample_rows(features.n_rows, _CHECKED_ROWS, 0)
    return unmerged(features.take(rows), np.ones(len(rows)), rows)


def _disagreement(
    margin: ClassMargin, ensemble: Ensemble, request: BoundRequest, features: Features
) -> Refusal | None:
    """Compare what the trees add up with the model's own predictions, on some rows."""
    background = _some(features)
    columns = enumerate(background.columns)
    codes = np.stack([ensemble.codes(j, column) for j, column in columns])
    found = sum_leaves(ensemble, codes, request.block_pool) @ ensemble.matrix.T + ensemble.offset
    predicted = margin.model.predict(feeds(features, background.columns)).astype(np.float64)
    return disagreement(ensemble, found, predicted)


def _by_trees(
    options: Options, request: BoundRequest, ensemble: Ensemble, features: Features
) -> Exact:
    kind, limit = _weights(options, features), options.motion.weight_limit

    def make(moved_rows: MovedRowPredictor, background: Background) -> StepReader:
        return TreeStepReader(
            ensemble, background.columns, request.block_pool, moved_rows, kind, limit
        )

    return make


def _by_lines(options: Options, request: BoundRequest, model: Model, features: Features) -> Exact:
    kind, limit = _weights(options, features), options.motion.weight_limit

    def make(moved_rows: MovedRowPredictor, background: Background) -> StepReader:
        predictor = request.unplanned.of(model)
        scores = MovedRowPredictor(predictor, predictor, background)
        return LinearStepReader(scores, moved_rows, background.columns, kind, limit)

    return make


def _weights(options: Options, features: Features) -> npt.DTypeLike:
    """Return the numbers that weights can be."""
    moved = [features.dtypes[features.index(name)] for name in options.features]
    return max((precision(dtype) for dtype in moved), key=lambda kind: np.dtype(kind).itemsize)
