"""Preparation of interaction statistics that the engine SURROGATE estimates."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import comb
from typing import Any

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.effects.sampled_hybrids import SampledHybrids
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.learning_library import require_learning_library
from onnxplain_server.explain.methods.interaction_approximation import remarks
from onnxplain_server.explain.question import Engine
from onnxplain_server.explain.rows.surrogate_budget import (
    MOST_PREDICTED_ROWS,
    PREDICTED_ROWS,
    hybrid_count,
)
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods.interactions import Options, Result
from onnxplain_server.methods.interactions.strength import clip
from onnxplain_server.methods.interactions.surrogate_measurement import (
    ModelRows,
    SurrogateMeasurement,
    needed_predictions,
)
from onnxplain_server.methods.interactions.surrogate_statistics import (
    AskedEstimate,
    compute_by_surrogate,
    pair_limit,
)
from onnxplain_server.methods.surrogates.cross_fit import FOLDS

_REFUSED: tuple[tuple[str, str], ...] = (
    ("threeway_feature_count", "triples are not estimated"),
    ("quantile_bin_count", "hybrid rows have the values of the rows"),
    ("knot_count", "hybrid rows have the values of the rows"),
    ("permutation_count", "terms are estimated for all rows together, not for each"),
    ("groups", "features are moved one by one and in pairs"),
    ("absolute_threshold", "it would set estimates to 0 that chance made small"),
)
"""Options that the engine does not serve, and why."""


_FIT_SECONDS, _ROW_SECONDS, _VALUE_SECONDS = 0.5, 1.6e-5, 1e-6
"""Seconds of a fit: in any case, for each row, and for each of its values."""
_TERM_SECONDS = 6e-6
"""Seconds of an exact term of a surrogate, for each row."""


def prepare_estimate(task: Task, options: Options) -> Job[Result]:
    """Prepare the estimate.

    Raises
    ------
    ExplainError
        INVALID_OPTION for options that it does not serve, and for too small a budget.
    """
    require_learning_library()
    _refuse(options, task.path)
    sample, effects = task.sample, task.effects
    assert isinstance(effects, SampledHybrids)  # noqa: S101 - by the choice of the engine
    names = effects.background.features.names
    features = [j for j, name in enumerate(names) if name in options.features]
    row_count = len(effects.background)
    fewest = _fewest(options, len(features), len(effects.output_names))
    most = MOST_PREDICTED_ROWS if options.target_error else PREDICTED_ROWS
    count = hybrid_count(task.question, row_count, fewest, most)
    run = partial(_run, task, features, count, options)
    return Job(
        options,
        row_count + count,
        run,
        sample.used(sample.drawn),
        (),
        remarks,
        run_in_rounds=run if options.target_error else None,
    )


def estimate_seconds(request: BoundRequest, job: Job[Result]) -> float | None:
    """Return the seconds that an estimate takes beside its predictions; None for other engines.

    Surrogates are fitted to all hybrid rows once for each fold, and once to choose pairs.
    """
    if request.question.engine is not Engine.SURROGATE:
        return None
    width, fits = len(request.sample.features.names), FOLDS + 1
    fitting = _FIT_SECONDS + job.cost * (_ROW_SECONDS + width * _VALUE_SECONDS)
    terms = (2 * width + comb(width, 2)) * len(request.background) * _TERM_SECONDS
    threads = request.resources.threads._max_workers  # noqa: SLF001 - as nothing else tells it
    return len(request.output_indices) * fits * (fitting / min(threads, FOLDS) + terms)


def _fewest(options: Options, feature_count: int, output_count: int) -> int:
    """Return the fewest hybrid rows from which the statistics asked for are estimated."""
    pairs = comb(feature_count, 2)
    if options.pairwise_feature_count is None:
        pairs = min(pairs, pair_limit(output_count))
    else:
        pairs = comb(min(options.pairwise_feature_count * output_count, feature_count), 2)
    return needed_predictions(feature_count, pairs)


def _run(
    task: Task,
    features: list[int],
    count: int,
    options: Options,
    tell: Callable[[Result], object] = lambda _result: None,
) -> Result:
    effects = task.effects
    assert isinstance(effects, SampledHybrids)  # noqa: S101 - by the choice of the engine
    background, outputs = effects.background, effects.outputs()
    measure = SurrogateMeasurement(
        ModelRows(background, outputs, effects.predict_hybrids),
        features,
        count,
        task.sample.seed,
        task.request.resources.threads,
        task.request.ledger.unplanned(),
    )
    zeros = clip(outputs, background.weights, effects.rounding_error(), None)
    asked = AskedEstimate(
        background.features.names,
        effects.output_names,
        options,
        zeros,
        task.request.estimated_because,
    )
    result = compute_by_surrogate(measure, asked, tell)
    effects.release(count - measure.predicted_count)
    return result


def _refuse(options: Options, path: str) -> None:
    for name, reason in _REFUSED:
        given: Any = getattr(options, name)
        if given:
            raise _refused(path, name, reason)
    if options.resampling.repeat_count:
        raise _refused(path, "repeat_count", "its intervals are those of the estimate")


def _refused(path: str, name: str, reason: str) -> ExplainError:
    return ExplainError(
        Reason.INVALID_OPTION,
        f"the engine SURROGATE takes no {name}: {reason}; leave {name} out, or ask for BLACK_BOX",
        f"{path}.{name}",
    )
