"""Preparation of FIRM: features parsed, scores chosen, rows drawn, cost bounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import listed
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.effects.engine import Effects
from onnxplain_server.explain.learning_library import require_learning_library
from onnxplain_server.explain.methods.firm_groups import group_columns, with_ordered_groups
from onnxplain_server.explain.methods.labels import TargetScores, read_labels, target_scores
from onnxplain_server.explain.methods.streamed_firm import streamed_firm
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.registry import Preparation, Rehearsing
from onnxplain_server.explain.row_counts import CONTRAST_ROWS
from onnxplain_server.explain.sample import Sample
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.language import ColumnValues, Expression, ValueKind, form_of, parse
from onnxplain_server.language.forms import Threshold
from onnxplain_server.methods import firm
from onnxplain_server.methods.firm import (
    Estimator,
    Moments,
    Options,
    Result,
    ScoredRows,
    ScoreSource,
    contrasts,
    gradients,
)
from onnxplain_server.methods.firm.pairs import expand
from onnxplain_server.methods.firm.result import PairGrid

_CLOSED_FORMS = {Estimator.GAUSSIAN, Estimator.TAYLOR}


@dataclass(frozen=True, slots=True, eq=False)
class _Scoring:
    """Model, target and rows that give the scores.

    Attributes
    ----------
    engine : callable () -> Effects
        The engine on the rows used; raises INVALID_REQUEST without a model.
    rows : (n,)
        Numbers of these rows in the table.
    target : TargetScores or None
        None if the source is MODEL.
    """

    engine: Callable[[], Effects]
    sample: Sample
    question: Question
    options: Options
    rows: Indices
    path: str
    target: TargetScores | None = None


class _Contrasted(NamedTuple):
    """Engine on the rows of the contrasts, and the columns that they measure."""

    effects: Effects
    features: tuple[str, ...]


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare FIRM.

    Raises
    ------
    ExplainError
        If a feature cannot be read, or an estimator does not apply.
    """
    path = task.path
    firm.check(options, path)
    options = _with_source(task, options)
    sample, kinds = task.sample, ColumnValues(task.sample.table.columns).kinds
    options = with_ordered_groups(options, kinds, path)
    features = expand(options, sample.features.names, kinds, path)
    texts, grids = zip(features.texts, features.paths, strict=True), features.pair_grids
    check, groups = sample.table.check_readable, options.named_groups
    group_kinds = dict.fromkeys(groups, ValueKind.TEXT)
    expressions = [
        parse(check(text, own), group_kinds if text in groups else kinds, own)
        for text, own in texts
    ]
    singles = tuple(text for text in features.texts if text not in groups)
    options = replace(options, features=singles)
    streamed = streamed_firm(task, options, expressions, grids)
    return streamed or _in_memory(task, options, expressions, grids)


def _in_memory(
    task: Task, options: Options, expressions: Sequence[Expression], pair_grids: Sequence[PairGrid]
) -> Job[Result]:
    sample, path = task.sample, task.path
    rows = sample.draw(sample.rows, len(sample.rows))
    groups = group_columns(options, sample.table, rows, path)
    columns = ColumnValues({**sample.table.stored, **groups})
    engine = cache(lambda: _on(task.effects, sample, rows))
    scoring = _Scoring(engine, sample, task.question, options, rows, path)
    _check(scoring)
    scoring = _with_target(task, scoring)
    options, labels = scoring.options, scoring.target.labels if scoring.target else None
    contrasted = _contrasted(scoring, expressions)
    run_blocks, seed = task.request.block_pool.run, task.question.seed

    def run() -> Result:
        scored_rows, moments = _scored_rows(scoring, columns), _moments(scoring, expressions)
        result = firm.compute(expressions, scored_rows, options, moments, seed, run_blocks)
        compared = contrasts.compare(*contrasted, options, path) if contrasted else ()
        return firm.complete(result, compared, tuple(pair_grids))

    notes = (*_contrasts_sampled_notes(contrasted, rows), *(labels.notes if labels else ()))
    pairings = labels.pairings if labels else ()
    cost, used = _cost(scoring, contrasted), sample.used(rows)
    return Job(options, cost, run, used, notes, pairings=pairings)


def _with_source(task: Task, options: Options) -> Options:
    """Set the default source: MODEL, or LABELS without a model; read the model if it is needed."""
    if options.source is None:
        default = ScoreSource.MODEL if task.request.has_model else ScoreSource.LABELS
        options = replace(options, source=default)
    if options.reads_model or options.contrasts:
        task.request.require_model()
    return options


def _contrasts_sampled_notes(contrasted: _Contrasted | None, rows: Indices) -> tuple[Note, ...]:
    """Warn if contrasts are computed on fewer rows than FIRM."""
    if contrasted is None:
        return ()
    row_count = len(contrasted.effects.background)
    if row_count == len(rows):
        return ()
    message = (
        f"Contrasts were computed on {row_count:,} of {len(rows):,} rows, as the time of some "
        "grows with the square of the rows; set row_count for more."
    )
    return (Note(MethodWarning.CONTRASTS_SAMPLED, message),)


def _on(effects: Effects, sample: Sample, rows: Indices) -> Effects:
    """Restrict the engine to rows, unless it already has exactly these."""
    if np.array_equal(effects.background.source, sample.table.as_sent(rows)):
        return effects
    return effects.restrict(sample.unmerged(rows))


def _check(scoring: _Scoring) -> None:
    """Refuse options that do not apply to this model or table."""
    options, path = scoring.options, scoring.path
    gradient_option = contrasts.wants_gradient(options)
    if gradient_option:
        gradients.check_smooth(scoring.engine(), gradient_option, path)
    is_closed_form = options.estimator in _CLOSED_FORMS
    if is_closed_form and options.reads_target:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{options.estimator.value if options.estimator else ''} reads the model, so source "
            "must be MODEL; ask for BINNED or SLOPE",
            f"{path}.estimator",
        )
    is_weighted = len(np.unique(scoring.sample.weights[scoring.rows])) > 1
    if is_closed_form and is_weighted and options.covariance is firm.Covariance.LEDOIT_WOLF:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "LEDOIT_WOLF takes no case weights; ask for SHRUNK",
            f"{path}.covariance",
        )
    if is_closed_form and options.covariance is firm.Covariance.LEDOIT_WOLF:
        require_learning_library()


def _contrasted(scoring: _Scoring, expressions: Sequence[Expression]) -> _Contrasted | None:
    """Return rows and columns of the contrasts; None if there are none."""
    if not scoring.options.contrasts:
        return None
    names = scoring.sample.features.names
    features = tuple(e.text for e in expressions if e.text in names and e.columns == (e.text,))
    count = scoring.question.row_count or CONTRAST_ROWS
    rows = scoring.sample.draw_few(scoring.rows, count)
    return _Contrasted(_on(scoring.engine(), scoring.sample, rows), features)


def _cost(scoring: _Scoring, contrasted: _Contrasted | None) -> int:
    options = scoring.options
    score_cost = len(scoring.rows) if options.reads_model else 0
    is_closed_form = options.estimator in _CLOSED_FORMS
    gradient_cost = gradients.gradient_cost(scoring.engine()) if is_closed_form else 0
    contrast_cost = contrasts.cost(*contrasted, options) if contrasted else 0
    return score_cost + gradient_cost + contrast_cost


def _scored_rows(scoring: _Scoring, columns: ColumnValues) -> ScoredRows:
    """Score the rows by the model, the target or both."""
    has_all_rows = len(scoring.rows) == scoring.sample.table.n_rows
    drawn_columns = columns if has_all_rows else columns.take(scoring.rows)
    parts: list[Matrix] = []
    names: tuple[str, ...] = ()
    if scoring.options.reads_model:
        effects = scoring.engine()
        parts.append(effects.outputs())
        names += effects.output_names
    if scoring.target is not None:
        parts.append(scoring.target.scores[scoring.rows])
        names += scoring.target.names
    scores = parts[0] if len(parts) == 1 else np.hstack(parts)
    weights = scoring.sample.weights[scoring.rows]
    units = scoring.sample.units(scoring.sample.table.as_sent(scoring.rows))
    return ScoredRows(drawn_columns, weights, scores, names, units)


def _with_target(task: Task, scoring: _Scoring) -> _Scoring:
    """Add the target as scores, unless the source is MODEL."""
    options = scoring.options
    if not options.reads_target:
        return scoring
    labels = read_labels(task, options.one_hot_target)
    scores = target_scores(labels, task)
    options = replace(options, one_hot_target=labels.is_class)
    return replace(scoring, options=options, target=scores)


def _moments(scoring: _Scoring, expressions: Sequence[Expression]) -> Moments | None:
    """Return the inputs of closed forms: the gradient, and the columns of model and features."""
    options = scoring.options
    if options.estimator not in _CLOSED_FORMS:
        return None
    effects = scoring.engine()
    features = effects.background.features
    if options.estimator is Estimator.GAUSSIAN:
        gradient = gradients.weights(effects, f"{scoring.path}.estimator")
    else:
        gradient = gradients.gradient_at_mean(effects)
    extra_names = tuple(dict.fromkeys(_extra_columns(expressions, features.names)))
    table = scoring.sample.table
    extra = {name: table.column(name)[scoring.rows] for name in extra_names}
    _check_finite(extra, options.estimator, f"{scoring.path}.estimator")
    columns = [*features.columns, *extra.values()]
    # The gradient is 0 in columns that are no input of the model.
    padded = np.vstack([gradient, np.zeros((len(extra), gradient.shape[1]))])
    rows = np.stack(columns, axis=1)
    return Moments((*features.names, *extra), rows, padded, options.covariance)


def _check_finite(columns: Mapping[str, Array], estimator: Estimator, path: str) -> None:
    """Refuse columns with missing or infinite values, which have no covariance."""
    missing = tuple(name for name, values in columns.items() if not np.isfinite(values).all())
    if missing:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{estimator.value} needs columns without missing or infinite values; these have some: "
            f"{listed(missing)}. Ask for BINNED",
            path,
        )


def _extra_columns(expressions: Sequence[Expression], names: Sequence[str]) -> list[str]:
    """Return the columns of features that are no inputs of the model."""
    extra = []
    for expression in expressions:
        form = form_of(expression)
        linear = form.linear if isinstance(form, Threshold) else form
        extra += [name for name in (linear.coefficients if linear else ()) if name not in names]
    return extra


def _unread_prediction(options: Options) -> str | None:
    if options.reads_model or options.contrasts:
        return None
    return "the source LABELS reads the target; MODEL and BOTH read the predictions"


def _rehearsing(options: Options) -> Rehearsing:
    """Tell by its bound what is predicted beside each row once."""
    is_row_once = not options.contrasts and options.estimator not in _CLOSED_FORMS
    return Rehearsing.UNTIL_PREDICTED if is_row_once else Rehearsing.BY_BOUND


PREPARATION = Preparation(
    prepare=prepare,
    rows_once=True,
    single_features=lambda options, _: options.features,
    unread_prediction=_unread_prediction,
    rehearsing=_rehearsing,
    resamples_rows=lambda options: options.resampling.repeat_count > 0,
)
