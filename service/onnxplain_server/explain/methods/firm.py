"""Preparation of FIRM: features parsed, scores chosen, rows drawn, cost bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import listed, sample_rows
from onnxplain_server.effects.engine import Effects
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.row_counts import CONTRAST_ROWS
from onnxplain_server.explain.sample import Sample
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import firm, target
from onnxplain_server.methods.classes import ClassPairing, format_label, pair
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
from onnxplain_server.methods.firm.language import ColumnValues, Expression, form_of, parse
from onnxplain_server.methods.firm.language.forms import Threshold
from onnxplain_server.methods.firm.pairs import expand

_MAX_CLASSES = 100


@dataclass(frozen=True, slots=True, eq=False)
class _TargetScores:
    """The target as scores: (n_rows, n_scores) for all rows of the table, and their names."""

    scores: Matrix
    names: tuple[str, ...]
    is_class: bool
    pairings: tuple[ClassPairing, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Scoring:
    """Model, target and rows that give the scores.

    Attributes
    ----------
    effects : Effects
        The engine on the rows used.
    rows : (n,)
        Numbers of these rows in the table.
    target : _TargetScores or None
        None if the source is MODEL.
    """

    effects: Effects
    sample: Sample
    question: Question
    options: Options
    rows: Indices
    path: str
    target: _TargetScores | None = None


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare FIRM.

    Raises
    ------
    ExplainError
        If a feature cannot be read, or an estimator does not apply.
    """
    sample, path = task.sample, task.path
    firm.check(options, path)
    columns = ColumnValues(sample.table.columns)
    features = expand(options, sample.features.names, columns.kinds, path)
    texts = zip(features.texts, features.paths, strict=True)
    expressions = [parse(text, columns.kinds, feature_path) for text, feature_path in texts]
    options = replace(options, features=tuple(features.texts))
    rows = sample.draw(sample.rows, len(sample.rows))
    effects = _on(task.effects, sample, rows)
    scoring = _Scoring(effects, sample, task.question, options, rows, path)
    _check(scoring)
    if options.source is not ScoreSource.MODEL:
        target_scores = _read_target(task, options)
        options = replace(options, one_hot_target=target_scores.is_class)
        scoring = replace(scoring, options=options, target=target_scores)
    contrast_effects, contrast_features = _contrast_inputs(scoring, expressions)
    run_blocks, seed = task.request.block_pool.run, task.question.seed

    def run() -> Result:
        scored_rows, moments = _scored_rows(scoring, columns), _moments(scoring, expressions)
        result = firm.compute(expressions, scored_rows, options, moments, seed, run_blocks)
        compared = contrasts.compare(contrast_effects, contrast_features, options, path)
        return firm.complete(result, compared, tuple(features.pair_grids))

    return Job(
        options,
        _cost(scoring, contrast_effects, contrast_features),
        run,
        sample.used(rows),
        _contrasts_sampled_notes(options, contrast_effects, rows),
        pairings=scoring.target.pairings if scoring.target else (),
    )


def _contrasts_sampled_notes(
    options: Options, contrast_effects: Effects, rows: Indices
) -> tuple[Note, ...]:
    """Warn if contrasts are computed on fewer rows than FIRM."""
    row_count = len(contrast_effects.background)
    if not options.contrasts or row_count == len(rows):
        return ()
    message = (
        f"Contrasts were computed on {row_count:,} of {len(rows):,} rows, as the time of some "
        "grows with the square of the rows; set row_count for more."
    )
    return (Note("CONTRASTS_SAMPLED", message),)


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
        gradients.check_smooth(scoring.effects, gradient_option, path)
    is_closed_form = options.estimator in {Estimator.GAUSSIAN, Estimator.TAYLOR}
    if is_closed_form and options.source is not ScoreSource.MODEL:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{options.estimator.value if options.estimator else ''} reads the model, so source "
            "must be MODEL; ask for BINNED or SLOPE",
            f"{path}.estimator",
        )
    is_weighted = len(np.unique(scoring.effects.background.weights)) > 1
    if is_closed_form and is_weighted and options.covariance is firm.Covariance.LEDOIT_WOLF:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "LEDOIT_WOLF takes no case weights; ask for SHRUNK",
            f"{path}.covariance",
        )


def _contrast_inputs(
    scoring: _Scoring, expressions: Sequence[Expression]
) -> tuple[Effects, tuple[str, ...]]:
    """Return the engine on the rows of the contrasts, and the columns that they measure."""
    names = scoring.sample.features.names
    features = tuple(e.text for e in expressions if e.text in names and e.columns == (e.text,))
    if not scoring.options.contrasts:
        return scoring.effects, features
    count = scoring.question.row_count or CONTRAST_ROWS
    rows = scoring.rows[sample_rows(len(scoring.rows), count, scoring.question.seed)]
    return _on(scoring.effects, scoring.sample, rows), features


def _cost(scoring: _Scoring, contrast_effects: Effects, features: tuple[str, ...]) -> int:
    options = scoring.options
    score_cost = 0 if options.source is ScoreSource.LABELS else len(scoring.rows)
    is_closed_form = options.estimator in {Estimator.GAUSSIAN, Estimator.TAYLOR}
    gradient_cost = gradients.gradient_cost(scoring.effects) if is_closed_form else 0
    return score_cost + gradient_cost + contrasts.cost(contrast_effects, features, options)


def _scored_rows(scoring: _Scoring, columns: ColumnValues) -> ScoredRows:
    """Score the rows by the model, the target or both."""
    has_all_rows = len(scoring.rows) == scoring.sample.table.n_rows
    drawn_columns = columns if has_all_rows else columns.take(scoring.rows)
    parts: list[Matrix] = []
    names: tuple[str, ...] = ()
    if scoring.options.source is not ScoreSource.LABELS:
        parts.append(scoring.effects.outputs())
        names += scoring.effects.output_names
    if scoring.target is not None:
        parts.append(scoring.target.scores[scoring.rows])
        names += scoring.target.names
    scores = parts[0] if len(parts) == 1 else np.hstack(parts)
    return ScoredRows(drawn_columns, scoring.sample.weights[scoring.rows], scores, names)


def _read_target(task: Task, options: Options) -> _TargetScores:
    """Read the target as scores; classes become one score each, two classes a single one."""
    column, outputs = task.question.target_column, task.outputs
    values, pairings, is_class = target.read_labels(
        task.sample.table, column, outputs, options.one_hot_target, task.path
    )
    if not is_class:
        return _TargetScores(values[:, None], (column,), False)
    if pairings:
        output_positions = pair(values, outputs, "target_column").outputs
        labels = [pairing.label for pairing in pairings]
        codes = output_positions + len(labels) - len(outputs.names)
    else:
        classes, codes = np.unique(values, return_inverse=True)
        labels = [format_label(label) for label in classes]
    if len(labels) > _MAX_CLASSES:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the target has {len(labels):,} classes; at most {_MAX_CLASSES} can be scores",
            "target_column",
        )
    scored = range(len(labels))[-1:] if len(labels) == 2 else range(len(labels))
    scores = np.stack([(codes == k).astype(np.float64) for k in scored], axis=1)
    return _TargetScores(scores, tuple(f"{column} = {labels[k]}" for k in scored), True, pairings)


def _moments(scoring: _Scoring, expressions: Sequence[Expression]) -> Moments | None:
    """Return the inputs of closed forms: the gradient, and the columns of model and features."""
    options, features = scoring.options, scoring.effects.background.features
    if options.estimator not in {Estimator.GAUSSIAN, Estimator.TAYLOR}:
        return None
    if options.estimator is Estimator.GAUSSIAN:
        gradient = gradients.weights(scoring.effects, f"{scoring.path}.estimator")
    else:
        gradient = gradients.gradient_at_mean(scoring.effects)
    extra_names = tuple(dict.fromkeys(_extra_columns(expressions, features.names)))
    table = scoring.sample.table
    extra = {name: table.column(name)[scoring.rows] for name in extra_names}
    _check_finite(extra, options.estimator, f"{scoring.path}.estimator")
    columns = [*features.columns, *extra.values()]
    # The gradient is 0 in columns that are no input of the model.
    padded = np.vstack([gradient, np.zeros((len(extra), gradient.shape[1]))])
    names = (*features.names, *extra)
    return Moments(names, np.stack(columns, axis=1), padded, options.covariance)


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
