"""Additive engine of a request: whether it applies to its model, predictions and table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from onnxplain_server.additive.check import check_terms, refuse_many_cells, refuse_not_finite
from onnxplain_server.additive.engine import Additive, AdditiveSetup, is_quadratic
from onnxplain_server.additive.kernel_check import check_kernels
from onnxplain_server.additive.kernel_effects import KernelEffects, KernelSetup
from onnxplain_server.additive.kernel_model import KernelModel, described_kernels
from onnxplain_server.additive.model import AdditiveModel, TermLink, described
from onnxplain_server.additive.pair_terms import PairTables
from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.model import Model, category_features
from onnxplain_server.core.row_draws import draw
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.effects.engine import Effects
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.explain.prediction.model import PredictionModel
from onnxplain_server.explain.prediction.trees import affine_predictions, not_affine
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.resources import Resources
from onnxplain_server.explain.row_counts import QUADRATIC_ROWS
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.reading.refusal import Refusal

_CHECKED_ROWS = 200
_KERNEL_NUMBERS = 100_000_000
"""Rows times kernels that a request takes at most, which does not say how many rows."""


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveChoice:
    """Additive engine, still without rows.

    Attributes
    ----------
    reason : str
        Why it applies, for the receipt.
    on : callable (Background) -> Effects
    is_quadratic : bool
        Whether the time of effects grows with the square of the rows.
    row_count : int or None
        Rows to draw by default; None: all.
    """

    reason: str
    on: Callable[[Background], Effects]
    is_quadratic: bool
    row_count: int | None


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
    if isinstance(explained, KernelModel):
        return _choose_kernels(explained.select(outputs), model, outputs, resources, ledger)
    setup = AdditiveSetup(
        PairTables(explained.select(outputs), features),
        tuple(model.output_names[k] for k in outputs),
        category_features(model),
        ledger,
        question.row_count or QUADRATIC_ROWS,
    )
    row_count = QUADRATIC_ROWS if is_quadratic(explained) else None
    return AdditiveChoice(
        _reason(explained),
        lambda rows: Additive(setup, rows),
        is_quadratic(explained),
        row_count,
    )


def _choose_kernels(
    explained: KernelModel,
    model: Model,
    outputs: Indices,
    resources: Resources,
    ledger: Ledger,
) -> AdditiveChoice:
    setup = KernelSetup(
        explained,
        tuple(model.output_names[k] for k in outputs),
        category_features(model),
        BlockPool(resources.threads, ledger),
    )
    what = described_kernels(explained)
    return AdditiveChoice(
        f"what is explained is {what}, so effects are exact without predicting",
        lambda rows: KernelEffects(setup, rows),
        is_quadratic=False,
        row_count=max(QUADRATIC_ROWS, _KERNEL_NUMBERS // max(explained.kernel_count, 1)),
    )


def _reason(explained: AdditiveModel) -> str:
    if explained.link is TermLink.IDENTITY:
        result = "effects are exact without predicting"
    else:
        result = "nothing is predicted"
    return f"what is explained is {described(explained)}, so {result}"


def _explained(
    additive: AdditiveModel | KernelModel, model: Model
) -> AdditiveModel | KernelModel | Refusal:
    """Put the request's predictions behind the outputs."""
    if not isinstance(model, PredictionModel):
        return additive
    affine = affine_predictions(model.predictions)
    if affine is None:
        what = (
            described_kernels(additive)
            if isinstance(additive, KernelModel)
            else described(additive)
        )
        return Refusal(not_affine(model.predictions, what))
    return additive.after(affine)


def _check(
    additive: AdditiveModel | KernelModel, model: Model, features: Features, resources: Resources
) -> Refusal | None:
    """Check terms on all rows, and compare with predictions on some; memoized."""

    def check() -> Refusal | None:
        rows = draw(np.arange(features.n_rows), _CHECKED_ROWS, 0)
        background = unmerged(features.take(rows), np.ones(len(rows)), rows)
        if isinstance(additive, KernelModel):
            refusal = refuse_not_finite(additive, features)
            return refusal or check_kernels(additive, model, background)
        return (
            refuse_not_finite(additive, features)
            or refuse_many_cells(PairTables(additive, features), features)
            or check_terms(additive, model, background)
        )

    # An equal request on the same table has the same rows.
    key = resources.request_key
    return resources.memo.verdict(f"additive:{key}", check) if key else check()
