"""Exact search of swarm: steps of the score, read from trees or from an affine model.

The trees must agree with the model's own predictions on a sample of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model, Note
from onnxplain_server.core.row_draws import draw
from onnxplain_server.core.rows import Features, feeds
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.question import Engine
from onnxplain_server.explain.resources import ClassMargin
from onnxplain_server.methods.swarm import (
    LinearStepReader,
    MovedRowPredictor,
    Options,
    Search,
    StepReader,
    TreeStepReader,
)
from onnxplain_server.methods.swarm.perturbation import precision
from onnxplain_server.trees.model_check import check_trees
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.refusal import Refusal

StepReaderFactory: TypeAlias = Callable[[MovedRowPredictor, Background], StepReader]
"""Makes a reader of steps for the rows used."""

_CHECKED_ROWS = 200


def exact_search(
    options: Options, request: BoundRequest, features: Features
) -> StepReaderFactory | Refusal:
    """Return a reader of steps for this model, or the reason why none applies.

    Parameters
    ----------
    options : Options
        Resolved.
    features : Features
        Features of all rows of the table.
    """
    if request.question.engine is Engine.BLACK_BOX and options.search is not Search.EXACT:
        return Refusal("the engine BLACK_BOX was asked for")
    margin = request.margin()
    if isinstance(margin, Refusal):
        return margin
    refusal = _refuse_options(margin, options)
    refusal = refusal or _refuse_separate_probabilities(margin, request, features)
    if refusal is not None:
        return refusal
    if isinstance(margin.trees, Ensemble):
        refusal = _refuse_disagreement(margin, margin.trees, request, features)
        return refusal or _tree_steps(options, request, margin.trees, features)
    return _linear_steps(options, request, margin.model, features)


def _refuse_options(margin: ClassMargin, options: Options) -> Refusal | None:
    """Refuse a loss of what is no sum over trees, and groups of features of trees."""
    has_trees = isinstance(margin.trees, Ensemble)
    if options.measure is not None and not (margin.is_answer and has_trees):
        return Refusal("the loss is not the same on pieces: the answer is no sum over trees")
    if options.groups and has_trees:
        return Refusal("steps of trees are along one feature, and a group moves several")
    return None


def require_exact(factory: StepReaderFactory | Refusal, path: str) -> StepReaderFactory:
    """Raise INVALID_OPTION if the exact search does not apply."""
    if isinstance(factory, Refusal):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the search EXACT does not apply, because {factory.reason}; leave search out, or take "
            "PUBLISHED",
            path,
        )
    return factory


def not_exact_note(reason: str) -> Note:
    """Return the warning that weights were found by trying candidates."""
    return Note(
        MethodWarning.NOT_EXACT,
        f"Weights were searched by sampling, not exactly, because {reason}; a search can miss "
        "effects. A higher restart_count and start UNIFORM lower that risk.",
    )


def _refuse_separate_probabilities(
    margin: ClassMargin, request: BoundRequest, features: Features
) -> Refusal | None:
    """Refuse several classes whose probabilities are each computed from their own score alone.

    If two of them round to 1, the class of the largest score may not be the one predicted.
    """
    if margin.is_answer or len(margin.model.output_names) == 2:
        return None
    background = _sample(features)
    scores = margin.model.predict(feeds(features, background.columns)).astype(np.float64)
    outputs = request.unplanned.predict_rows(features, background.columns)
    if np.allclose(softmax(scores, axis=1), outputs, rtol=0, atol=1e-4):
        return None
    return Refusal("each class has a probability of its own, and two can round to 1")


def _sample(features: Features) -> Background:
    rows = draw(np.arange(features.n_rows), _CHECKED_ROWS, 0)
    return unmerged(features.take(rows), np.ones(len(rows)), rows)


def _refuse_disagreement(
    margin: ClassMargin, ensemble: Ensemble, request: BoundRequest, features: Features
) -> Refusal | None:
    """Refuse trees whose sums differ from the model's predictions on a sample of rows."""
    return check_trees(ensemble, margin.model, _sample(features), request.block_pool)


def _tree_steps(
    options: Options, request: BoundRequest, ensemble: Ensemble, features: Features
) -> StepReaderFactory:
    dtype, limit = _weight_dtype(options, features), options.motion.weight_limit

    def make(moved_rows: MovedRowPredictor, background: Background) -> StepReader:
        return TreeStepReader(
            ensemble, background.columns, request.block_pool, moved_rows, dtype, limit
        )

    return make


def _linear_steps(
    options: Options, request: BoundRequest, model: Model, features: Features
) -> StepReaderFactory:
    dtype, limit = _weight_dtype(options, features), options.motion.weight_limit

    def make(moved_rows: MovedRowPredictor, background: Background) -> StepReader:
        predictor = request.unplanned.of(model)
        scores = MovedRowPredictor(predictor, predictor, background, "class scores")
        return LinearStepReader(scores, moved_rows, background.columns, dtype, limit)

    return make


def _weight_dtype(options: Options, features: Features) -> npt.DTypeLike:
    """Return the floating-point type that weights are searched in."""
    moved = [features.dtypes[features.index(name)] for name in options.features]
    return max((precision(dtype) for dtype in moved), key=lambda kind: np.dtype(kind).itemsize)
