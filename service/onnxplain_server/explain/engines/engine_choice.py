"""Choice of the engine: trees or additive if the model can be read so and agrees, else black box.

The receipt tells the choice and its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Host
from onnxplain_server.core.model import Model, Note
from onnxplain_server.core.row_draws import draw
from onnxplain_server.core.rows import Features
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.effects.engine import Effects
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.effects.sampled_hybrids import SampledHybrids
from onnxplain_server.explain.engines.additive import AdditiveChoice, choose_additive
from onnxplain_server.explain.engines.layers import by_parts
from onnxplain_server.explain.prediction.model import PredictionModel
from onnxplain_server.explain.prediction.trees import PredictionTrees, put_behind
from onnxplain_server.explain.question import Engine, Question
from onnxplain_server.explain.resources import Resources
from onnxplain_server.explain.row_counts import LINKED_PAIR_ROWS, QUADRATIC_ROWS
from onnxplain_server.trees.cached import CachedTrees, TreeEngine
from onnxplain_server.trees.exact import Exact
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.linked import JointRows, Linked
from onnxplain_server.trees.model_check import check_trees, refuse_missing
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.links import LinkedEnsemble, Trees, linked_sums
from onnxplain_server.trees.reading.refusal import Refusal
from onnxplain_server.trees.reading.sums.with_trees import SUMS_WITH_LINEAR, EnsembleWithLinear
from onnxplain_server.trees.streaming.block_effects import AffineOutputs
from onnxplain_server.trees.streaming.blocks import RowBlocks
from onnxplain_server.trees.streaming.engine import StreamedTrees
from onnxplain_server.trees.with_linear import ExactWithLinear

_CHECKED_ROWS = 200

_ASKED = "it was asked for"


@dataclass(frozen=True, slots=True, eq=False)
class EngineChoice:
    """An engine, still without rows.

    Attributes
    ----------
    engine : Engine
    reason : str
        Why this engine was chosen, for the receipt.
    notes : tuple of Note
    row_count : int or None
        Rows to draw by default; None: all.
    is_quadratic : bool
        Whether the time of joint effects grows with the square of the rows.
    on : callable (Background) -> Effects
        Sets the engine up on rows.
    stream : callable (RowBlocks, BlockPool, int) -> StreamedTrees, or None
        Sets the engine up on a table in blocks, with `memory_bytes`; None where it needs all rows
        in memory.
    """

    engine: Engine
    reason: str
    notes: tuple[Note, ...]
    row_count: int | None
    on: Callable[[Background], Effects]
    is_quadratic: bool
    stream: Callable[[RowBlocks, BlockPool, int], StreamedTrees] | None = None

    @property
    def predicts(self) -> bool:
        """Return whether effects are averages of predictions, and not read from the model."""
        match self.engine:
            case Engine.TREES | Engine.ADDITIVE:
                return False
            case Engine.BLACK_BOX | Engine.SURROGATE:
                return True


# Long: one engine after the other, each with why it does not apply.
def choose_engine(  # noqa: PLR0917 - the choice depends on all of these
    model: Model,
    features: Features,
    outputs: Indices,
    question: Question,
    resources: Resources,
    ledger: Ledger,
    because: str,
) -> EngineChoice:
    """Choose the requested engine, or else the first that applies: trees, additive, black box.

    Parameters
    ----------
    because : str
        Why there is an engine in the question; empty where it was asked for.

    Raises
    ------
    ExplainError
        INVALID_OPTION if the trees or additive engine is requested and does not apply.
    """
    predictor = Predictor(model, outputs, ledger, resources.batch_size, resources.predicting)
    if question.engine is Engine.BLACK_BOX:
        return _black_box(predictor, question, resources, _ASKED)
    if question.engine is Engine.SURROGATE:
        return _surrogate(predictor, question, because or _ASKED)
    trees = resources.trees()
    explained = trees if isinstance(trees, Refusal) else _explained_trees(trees, model, features)
    if isinstance(explained, Refusal) or question.engine is Engine.ADDITIVE:
        without = explained if isinstance(explained, Refusal) else Refusal("another was asked for")
        reason = _why_no_trees(question, without.reason)
        additive = choose_additive(model, features, outputs, question, resources, ledger)
        if isinstance(additive, Refusal):
            reason += _why_not_additive(question, resources, additive)
            return _by_parts(predictor, features, question, resources, reason)
        return _additive(additive)
    assert not isinstance(trees, Refusal)  # noqa: S101 - else `explained` is one

    on = _tree_engine(explained.trees, model, outputs, question, resources, ledger)
    mismatch = _check_predictions(trees, _source(model), features, resources)
    if mismatch is not None:
        why = _why_no_trees(question, mismatch.reason)
        text = f"The trees engine was not used, because {mismatch.reason}."
        note = Note(InputWarning.TREES_DISAGREE, text)
        return _by_parts(predictor, features, question, resources, why, note)
    is_quadratic = isinstance(explained.trees, LinkedEnsemble)
    identity = _identity(question)

    def on_cached(background: Background) -> Effects:
        return CachedTrees(on(background), ledger, identity, outputs)

    stream = _streaming(explained.trees, model.output_names, outputs, resources)
    return EngineChoice(Engine.TREES, explained.reason, (), None, on_cached, is_quadratic, stream)


def _streaming(
    trees: Trees,
    names: tuple[str, ...],
    outputs: Indices,
    resources: Resources,
) -> Callable[[RowBlocks, BlockPool, int], StreamedTrees] | None:
    """Return the engine for these trees and tables in blocks; None unless outputs are sums."""
    if not isinstance(trees, Ensemble):
        return None
    leaves = resources.memo.leaves(trees)
    explained = AffineOutputs.of(trees, names, outputs)
    return lambda rows, pool, memory_bytes: StreamedTrees(
        trees, leaves, rows, explained, pool, memory_bytes
    )


def _source(model: Model) -> Model:
    """Return the model whose outputs the trees add up to."""
    return model.source if isinstance(model, PredictionModel) else model


def _explained_trees(trees: Trees, model: Model, features: Features) -> PredictionTrees | Refusal:
    """Return the trees of what is explained, with the reason for the receipt."""
    if isinstance(trees, EnsembleWithLinear):
        refusal = refuse_missing(trees.linear, features)
        if refusal is not None:
            return refusal
    if isinstance(model, PredictionModel):
        return put_behind(model.predictions, trees)
    if isinstance(trees, Ensemble):
        reason = "the model's outputs are sums over trees, so effects are exact without predicting"
        return PredictionTrees(trees, reason)
    if isinstance(trees, EnsembleWithLinear):
        what = f"the model's outputs are {SUMS_WITH_LINEAR}"
        return PredictionTrees(trees, f"{what}, so effects are exact without predicting")
    reason = f"the model's outputs are {linked_sums(trees)}, so nothing is predicted"
    return PredictionTrees(trees, reason)


def _tree_engine(  # noqa: PLR0917 - arguments of the engine
    trees: Trees,
    model: Model,
    outputs: Indices,
    question: Question,
    resources: Resources,
    ledger: Ledger,
) -> Callable[[Background], TreeEngine]:
    """Return the engine for these trees."""
    names, threads = model.output_names, resources.threads
    if isinstance(trees, LinkedEnsemble):
        row_count = question.row_count
        limits = JointRows(row_count or LINKED_PAIR_ROWS, row_count or QUADRATIC_ROWS)
        return lambda rows: Linked(trees, rows, names, outputs, ledger, threads, limits)
    sums = trees if isinstance(trees, Ensemble) else trees.ensemble
    leaves = resources.memo.leaves(sums)

    def exact(background: Background) -> Exact:
        return Exact(sums, leaves, background, names, outputs, ledger, threads)

    if isinstance(trees, Ensemble):
        return exact
    linear = trees.linear.select(outputs)
    return lambda background: ExactWithLinear(exact(background), linear)


def _additive(choice: AdditiveChoice) -> EngineChoice:
    count, is_quadratic = choice.row_count, choice.is_quadratic
    return EngineChoice(Engine.ADDITIVE, choice.reason, (), count, choice.on, is_quadratic)


def _by_parts(
    predictor: Predictor,
    features: Features,
    question: Question,
    resources: Resources,
    reason: str,
    *notes: Note,
) -> EngineChoice:
    """Return the black box, with hybrid rows made of first layers where that saves time."""
    predictor, told = by_parts(predictor, features, resources)
    return _black_box(predictor, question, resources, reason + told, *notes)


def _black_box(
    predictor: Predictor, question: Question, resources: Resources, reason: str, *notes: Note
) -> EngineChoice:
    identity = _identity(question) + ("" if predictor.layers is None else ";first layers")
    return EngineChoice(
        Engine.BLACK_BOX,
        f"effects are computed by predicting with the model, because {reason}",
        notes,
        QUADRATIC_ROWS,
        lambda background: resources.black_box(predictor, background, identity),
        is_quadratic=True,
    )


def _surrogate(predictor: Predictor, question: Question, because: str) -> EngineChoice:
    identity = _identity(question)
    return EngineChoice(
        Engine.SURROGATE,
        f"effects are estimated by a surrogate and few predictions, because {because}",
        (),
        QUADRATIC_ROWS,
        lambda background: SampledHybrids(predictor, background, identity),
        is_quadratic=False,
    )


def _identity(question: Question) -> str:
    """Return all that the predictions depend on beside the model, for the cache."""
    return question.scale.value + (repr(question.prediction) if question.prediction else "")


def _why_no_trees(question: Question, reason: str) -> str:
    """Return why the trees engine does not apply; raise INVALID_OPTION if it is requested."""
    if question.engine is Engine.TREES:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the trees engine does not apply to this model, because {reason}; "
            "leave engine out, or ask for BLACK_BOX",
            "engine",
        )
    return f"the trees engine does not apply: {reason}"


def _why_not_additive(question: Question, resources: Resources, refusal: Refusal) -> str:
    """Return why the additive engine does not apply to an additive model, as `_why_no_trees`."""
    if question.engine is Engine.ADDITIVE:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the additive engine does not apply to this model, because {refusal.reason}; "
            "leave engine out, or ask for BLACK_BOX",
            "engine",
        )
    if isinstance(resources.additive(), Refusal):
        return ""  # most models are not additive
    return f"; nor does the additive engine: {refusal.reason}"


def _check_predictions(
    trees: Trees,
    model: Model,
    features: Features,
    resources: Resources,
) -> Refusal | None:
    """Compare the trees with the model's predictions on rows and on made ones; memoized."""

    def check() -> Refusal | None:
        host = resources.host
        # It can cancel the check of the trees, which reports no progress.
        silent = replace(Host.of(host), advance=lambda _done, _planned: host.advance(0, 0))
        pool = BlockPool(resources.threads, Ledger(silent))
        rows = draw(np.arange(features.n_rows), _CHECKED_ROWS, 0)
        background = unmerged(features.take(rows), np.ones(len(rows)), rows)
        return resources.memo.verdict(
            background.digest, lambda: check_trees(trees, model, background, pool)
        )

    # An equal request on the same table draws the same rows.
    key = resources.request_key
    return resources.memo.verdict(key, check) if key else check()
