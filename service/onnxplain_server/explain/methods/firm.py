"""Preparation of FIRM: features are parsed, scores chosen, rows and cost determined."""

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

_MOST_CLASSES = 100


@dataclass(frozen=True, slots=True, eq=False)
class _Labels:
    """The target as scores: (n_rows, n_scores), of all rows, and their names."""

    scores: Matrix
    names: tuple[str, ...]
    is_class: bool
    pairings: tuple[ClassPairing, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Scoring:
    """What all parts of the work need.

    Attributes
    ----------
    effects : Effects
        On the rows that are used.
    rows : (n,)
        These, in the table.
    labels : _Labels or None
        Where the source is not the model alone.
    """

    effects: Effects
    sample: Sample
    question: Question
    options: Options
    rows: Indices
    path: str
    labels: _Labels | None = None


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
    kinds = columns.kinds
    features = expand(options, sample.features.names, kinds, path)
    expressions = [
        parse(text, kinds, where)
        for text, where in zip(features.texts, features.paths, strict=True)
    ]
    options = replace(options, features=tuple(features.texts))
    rows = sample.draw(sample.rows, len(sample.rows))
    effects = _on(task.effects, sample, rows)
    scoring = _Scoring(effects, sample, task.question, options, rows, path)
    _check(scoring)
    if options.source is not ScoreSource.MODEL:
        labels = _read_labels(task, options)
        options = replace(options, one_hot_target=labels.is_class)
        scoring = replace(scoring, options=options, labels=labels)
    contrasted, contrast_features = _contrasted(scoring, expressions)
    run_blocks = task.request.block_pool.run

    def run() -> Result:
        scored_rows = _scored_rows(scoring, columns)
        moments = _moments(scoring, expressions)
        result = firm.compute(
            expressions, scored_rows, options, moments, task.question.seed, run_blocks
        )
        compared = contrasts.compare(contrasted, contrast_features, options, path)
        return firm.complete(result, compared, tuple(features.pair_grids))

    return Job(
        options,
        _cost(scoring, contrasted, contrast_features),
        run,
        sample.used(rows),
        _sampled(options, contrasted, rows),
        pairings=scoring.labels.pairings if scoring.labels else (),
    )


def _sampled(options: Options, beside: Effects, rows: Indices) -> tuple[Note, ...]:
    """Say where other measures are taken of fewer rows."""
    taken = len(beside.background)
    if not options.contrasts or taken == len(rows):
        return ()
    message = (
        f"Contrasts were computed on {taken:,} of {len(rows):,} rows, as the time of some grows "
        "with the square of the rows; set row_count for more."
    )
    return (Note("CONTRASTS_SAMPLED", message),)


def _on(effects: Effects, sample: Sample, rows: Indices) -> Effects:
    """Bring the engine onto rows, unless it is there."""
    if np.array_equal(effects.background.source, sample.table.as_sent(rows)):
        return effects
    return effects.restrict(sample.each(rows))


def _check(scoring: _Scoring) -> None:
    """Refuse what the model or the table cannot give."""
    options, path = scoring.options, scoring.path
    wanted = contrasts.wants_gradient(options)
    if wanted:
        gradients.check_smooth(scoring.effects, wanted, path)
    closed = options.estimator in {Estimator.GAUSSIAN, Estimator.TAYLOR}
    if closed and options.source is not ScoreSource.MODEL:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{options.estimator.value if options.estimator else ''} reads the model, so source "
            "must be MODEL; ask for BINNED or SLOPE",
            f"{path}.estimator",
        )
    is_weighted = len(np.unique(scoring.effects.background.weights)) > 1
    if closed and is_weighted and options.covariance is firm.Covariance.LEDOIT_WOLF:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "LEDOIT_WOLF takes no case weights; ask for SHRUNK",
            f"{path}.covariance",
        )


def _contrasted(
    scoring: _Scoring, expressions: Sequence[Expression]
) -> tuple[Effects, tuple[str, ...]]:
    """Choose the rows and the columns of which other measures are taken."""
    names = scoring.sample.features.names
    features = tuple(e.text for e in expressions if e.text in names and e.columns == (e.text,))
    if not scoring.options.contrasts:
        return scoring.effects, features
    count = scoring.question.row_count or CONTRAST_ROWS
    some = scoring.rows[sample_rows(len(scoring.rows), count, scoring.question.seed)]
    return _on(scoring.effects, scoring.sample, some), features


def _cost(scoring: _Scoring, beside: Effects, features: tuple[str, ...]) -> int:
    options = scoring.options
    scored = 0 if options.source is ScoreSource.LABELS else len(scoring.rows)
    closed = options.estimator in {Estimator.GAUSSIAN, Estimator.TAYLOR}
    probed = gradients.gradient_cost(scoring.effects) if closed else 0
    return scored + probed + contrasts.cost(beside, features, options)


def _scored_rows(scoring: _Scoring, columns: ColumnValues) -> ScoredRows:
    """Predict, or read the target, or both."""
    every = len(scoring.rows) == scoring.sample.table.n_rows
    taken = columns if every else columns.take(scoring.rows)
    parts: list[Matrix] = []
    names: tuple[str, ...] = ()
    if scoring.options.source is not ScoreSource.LABELS:
        parts.append(scoring.effects.outputs())
        names += scoring.effects.output_names
    if scoring.labels is not None:
        parts.append(scoring.labels.scores[scoring.rows])
        names += scoring.labels.names
    scores = parts[0] if len(parts) == 1 else np.hstack(parts)
    return ScoredRows(taken, scoring.sample.weights[scoring.rows], scores, names)


def _read_labels(task: Task, options: Options) -> _Labels:
    """Read the target as scores.

    A target that names classes becomes one score for each, or one alone where there are two.
    """
    column, outputs = task.question.target_column, task.outputs
    values, pairings, is_class = target.read_labels(
        task.sample.table, column, outputs, options.one_hot_target, task.path
    )
    if not is_class:
        return _Labels(values[:, None], (column,), False)
    if pairings:
        places = pair(values, outputs, "target_column").outputs
        named = [pairing.label for pairing in pairings]
        codes = places + len(named) - len(outputs.names)
    else:
        classes, codes = np.unique(values, return_inverse=True)
        named = [format_label(label) for label in classes]
    if len(named) > _MOST_CLASSES:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the target has {len(named):,} classes; at most {_MOST_CLASSES} can be scores",
            "target_column",
        )
    kept = range(len(named))[-1:] if len(named) == 2 else range(len(named))
    scores = np.stack([(codes == k).astype(np.float64) for k in kept], axis=1)
    return _Labels(scores, tuple(f"{column} = {named[k]}" for k in kept), True, pairings)


def _moments(scoring: _Scoring, expressions: Sequence[Expression]) -> Moments | None:
    """Read what closed forms need: the gradient, and the columns of model and features."""
    options, features = scoring.options, scoring.effects.background.features
    if options.estimator not in {Estimator.GAUSSIAN, Estimator.TAYLOR}:
        return None
    if options.estimator is Estimator.GAUSSIAN:
        gradient = gradients.weights(scoring.effects, f"{scoring.path}.estimator")
    else:
        gradient = gradients.gradient_at_mean(scoring.effects)
    others = tuple(dict.fromkeys(_needed(expressions, features.names)))
    table = scoring.sample.table
    beside = {name: table.column(name)[scoring.rows] for name in others}
    _check_known(beside, options.estimator, f"{scoring.path}.estimator")
    rows = [*features.columns, *beside.values()]
    # A column that the model does not take has no weight in it.
    whole = np.vstack([gradient, np.zeros((len(others), gradient.shape[1]))])
    names = (*features.names, *others)
    return Moments(names, np.stack(rows, axis=1), whole, options.covariance)


def _check_known(columns: Mapping[str, Array], estimator: Estimator, path: str) -> None:
    """Refuse columns with missing values, whose covariances nothing tells."""
    missing = tuple(name for name, values in columns.items() if not np.isfinite(values).all())
    if missing:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{estimator.value} needs columns without missing or infinite values; these have some: "
            f"{listed(missing)}. Ask for BINNED",
            path,
        )


def _needed(expressions: Sequence[Expression], names: Sequence[str]) -> list[str]:
    """Name the columns that features need beside those of the model."""
    needed = []
    for expression in expressions:
        form = form_of(expression)
        linear = form.linear if isinstance(form, Threshold) else form
        needed += [name for name in (linear.coefficients if linear else ()) if name not in names]
    return needed
