"""The choice of what computes the effects, and why."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import ComputationHost
from onnxplain_server.core.model import Model, Note
from onnxplain_server.core.rows import Features, feeds
from onnxplain_server.core.table import sample_rows
from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.engine import Effects
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.explain.question import Engine, Question
from onnxplain_server.explain.row_counts import QUADRATIC_ROWS
from onnxplain_server.trees.counting.strategies import Leaves
from onnxplain_server.trees.exact import Exact
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.linked import Linked
from onnxplain_server.trees.reading.check import disagreement
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.forest import Forest
from onnxplain_server.trees.reading.links import LinkedEnsemble
from onnxplain_server.trees.reading.refusal import Refusal

_CHECKED_ROWS = 200
_PROBABILITY_ROUNDING = 1e-5


def _no_trees(_width: int | None) -> Refusal:
    return Refusal("the model has no trees")


def _no_margin() -> Refusal:
    return Refusal("the model is not known by its parts")


@dataclass(frozen=True, slots=True, eq=False)
class ClassMargin:
    """What decides the class: the model's answer where that is a sum, or the score before it.

    Attributes
    ----------
    model : Model
        Predicts these scores.
    trees : Ensemble or Refusal
        Whose sums they are.
    is_affine : bool
        Whether each score is an affine function of the features.
    is_answer : bool
        Whether they are the model's answer.
    """

    model: Model
    trees: Ensemble | Refusal
    is_affine: bool
    is_answer: bool


@dataclass(frozen=True, slots=True)
class Resources:
    """What a computation runs with.

    Attributes
    ----------
    host : ComputationHost
    batch_size : BatchSize
        Call size learned for the model.
    threads : ThreadPoolExecutor
    trees : callable () -> Ensemble, LinkedEnsemble or Refusal
        The trees of the model, or why they cannot be read.
    forest : callable (int or None) -> Forest or Refusal
        The trees by themselves, whatever the model makes of their sums; it may have to be told
        how many columns the model takes.
    margin : callable () -> ClassMargin or Refusal
        What decides the class.
    """

    host: ComputationHost
    batch_size: BatchSize
    threads: ThreadPoolExecutor
    trees: Callable[[], Ensemble | LinkedEnsemble | Refusal]
    forest: Callable[[int | None], Forest | Refusal] = _no_trees
    margin: Callable[[], ClassMargin | Refusal] = _no_margin


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """An engine, ready for rows.

    Attributes
    ----------
    engine : Engine
    reason : str
        Why this one, for the receipt.
    notes : tuple of Note
    row_count : int or None
        Rows to draw by default; None: all.
    on : callable (Background) -> Effects
    """

    engine: Engine
    reason: str
    notes: tuple[Note, ...]
    row_count: int | None
    on: Callable[[Background], Effects]


def choose(  # noqa: PLR0917 - all that the choice depends on
    model: Model,
    features: Features,
    outputs: Indices,
    question: Question,
    means: Resources,
    ledger: Ledger,
) -> Choice:
    """Choose the engine that is asked for, or else the best that applies.

    Raises
    ------
    ExplainError
        INVALID_OPTION where the trees engine is asked for and does not apply.
    """
    predictor = Predictor(model, outputs, ledger, means.batch_size, means.threads)
    if question.engine is Engine.BLACK_BOX:
        return _black_box(predictor, question, "it was asked for")
    trees = means.trees()
    if isinstance(trees, Refusal):
        return _black_box(predictor, question, _refused(question, trees.reason))

    on, reason = _with_trees(trees, model, outputs, question, means.threads, ledger)
    wrong = _checked(trees, model, features, question, means)
    if wrong is not None:
        note = Note("TREES_DISAGREE", f"The trees engine was not used, because {wrong.reason}.")
        return _black_box(predictor, question, _refused(question, wrong.reason), note)
    return Choice(Engine.TREES, reason, (), None, on)


def _with_trees(  # noqa: PLR0917 - what an engine runs with
    trees: Ensemble | LinkedEnsemble,
    model: Model,
    outputs: Indices,
    question: Question,
    threads: ThreadPoolExecutor,
    ledger: Ledger,
) -> tuple[Callable[[Background], Effects], str]:
    """The engine for these trees, and why it is the one."""
    names = model.output_names
    if isinstance(trees, LinkedEnsemble):
        link, most = trees.link.value.lower(), question.row_count or QUADRATIC_ROWS
        return (
            lambda background: Linked(trees, background, names, outputs, ledger, threads, most),
            f"the model's outputs are the {link} of sums over trees, so nothing is predicted",
        )
    leaves = Leaves(trees, BlockPool(threads, ledger))
    return (
        lambda background: Exact(leaves, background, names, outputs, ledger, threads),
        "the model's outputs are sums over trees, so effects are exact without predicting",
    )


class _Unseen:
    """A host for the check: it can end it, but sees none of its rows as progress."""

    def __init__(self, host: ComputationHost) -> None:
        self._host = host
        self.single_flight = host.single_flight
        self.cache_get = host.cache_get
        self.cache_put = host.cache_put

    def advance(self, _done: float, _planned: float) -> None:
        """See `ComputationHost.advance`."""
        self._host.advance(0, 0)


def _black_box(predictor: Predictor, question: Question, reason: str, *notes: Note) -> Choice:
    scale = question.scale.value
    return Choice(
        Engine.BLACK_BOX,
        f"effects are computed by predicting with the model, because {reason}",
        notes,
        QUADRATIC_ROWS,
        lambda background: BlackBox(predictor, background, scale),
    )


def _refused(question: Question, reason: str) -> str:
    """Say why trees do not serve; refuse where they are asked for."""
    if question.engine is Engine.TREES:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the trees engine does not apply to this model, because {reason}; "
            "leave engine out, or ask for BLACK_BOX",
            "engine",
        )
    return f"the trees engine does not apply: {reason}"


def _checked(
    trees: Ensemble | LinkedEnsemble,
    model: Model,
    features: Features,
    question: Question,
    means: Resources,
) -> Refusal | None:
    """Compare the trees with the model's predictions on some rows."""
    rows = sample_rows(features.n_rows, _CHECKED_ROWS, 0)
    background = unmerged(features.take(rows), np.ones(len(rows)), rows)
    predicted = model.predict(feeds(features, background.columns)).astype(np.float64)
    every, unseen = np.arange(len(model.output_names)), Ledger(_Unseen(means.host))
    engine = _with_trees(trees, model, every, question, means.threads, unseen)[0]
    found = engine(background).outputs()
    if isinstance(trees, Ensemble):
        return disagreement(trees, found, predicted)
    if np.allclose(found, predicted, rtol=0, atol=_PROBABILITY_ROUNDING):
        return None
    return Refusal("its trees and their link give other probabilities than the runtime")
