"""The use case: a model, a table and a question in; results with plots and a receipt out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np

from onnxplain_server.arrays import Indices, Vector
from onnxplain_server.effects.background import Background, merge
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.caller import Caller
from onnxplain_server.effects.effects import Effects
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.pace import Pace
from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.methods import interactions, partial_dependence
from onnxplain_server.methods.groups import split
from onnxplain_server.model import Model, Note, Scale
from onnxplain_server.plots import interactions as interaction_plots
from onnxplain_server.plots import partial_dependence as partial_dependence_plots
from onnxplain_server.plots.chart import Plot
from onnxplain_server.rows import Features, bind
from onnxplain_server.run import Host
from onnxplain_server.table import Table, draw, listed, weights

Options: TypeAlias = interactions.Options | partial_dependence.Options
Result: TypeAlias = interactions.Result | partial_dependence.Result

_DEFAULT_ROW_COUNT = 500


class Engine(Enum):
    """What computes the effects."""

    BLACK_BOX = "BLACK_BOX"


@dataclass(frozen=True, slots=True)
class Question:
    """What to explain; see `ExplainRequest` in the contract.

    Attributes
    ----------
    feature_columns, output_indices : tuple
        Empty for the default.
    row_count : int or None
        None: as many as the engine can afford.
    methods : tuple of Options
    """

    methods: tuple[Options, ...]
    feature_columns: tuple[str, ...] = ()
    target_column: str = ""
    weight_column: str = ""
    output_indices: tuple[int, ...] = ()
    scale: Scale = Scale.RESPONSE
    engine: Engine | None = None
    row_count: int | None = None
    seed: int = 0
    plots: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The answer of one method: its options after defaults, its result, its pictures."""

    options: Options
    result: Result
    plots: tuple[Plot, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The explanations, and how they were made; see `Receipt` in the contract."""

    explanations: tuple[Explanation, ...]
    notes: tuple[Note, ...]
    row_count: int
    predicted_row_count: int
    cache_hit_count: int
    cache_miss_count: int
    engine: Engine
    engine_reason: str


@dataclass(frozen=True, slots=True)
class Means:
    """What a computation runs with: its surroundings, the model's pace, threads for calls."""

    host: Host
    pace: Pace
    threads: ThreadPoolExecutor


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The table bound to the model, and the rows drawn from it."""

    table: Table
    features: Features
    weights: Vector
    drawn: Indices
    row_count: int
    seed: int

    def background(self, features: Features, rows: Indices) -> Background:
        """Merge rows; `features` hold all rows of the table."""
        return merge(features.take(rows), self.weights[rows], rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """A method with its options resolved, ready to run: `cost` bounds the rows to predict."""

    options: Options
    cost: int
    run: Callable[[], Result]


def explain(
    model: Model,
    table: Table,
    question: Question,
    means: Means,
) -> Answer:
    """Explain a model by the methods asked for.

    Raises
    ------
    ExplainError
        With the path of the request's field where there is one.
    """
    rows = _rows(model, table, question)
    outputs = _outputs(model, question.output_indices)
    ledger = Ledger(means.host)
    caller = Caller(model, outputs, ledger, means.pace, means.threads)
    effects = BlackBox(caller, rows.background(rows.features, rows.drawn), question.scale.value)
    jobs = [_prepare(effects, rows, o, f"methods[{i}]") for i, o in enumerate(question.methods)]
    ledger.reserve(sum(job.cost for job in jobs))
    explanations = tuple(_explain(job, plots=question.plots) for job in jobs)
    return Answer(
        explanations,
        (*model.notes, *_notes(rows)),
        len(rows.drawn),
        ledger.predicted,
        ledger.hits,
        ledger.misses,
        Engine.BLACK_BOX,
        "effects are computed by predicting with the model, which works for any model",
    )


def _rows(model: Model, table: Table, question: Question) -> _Rows:
    """Bind the table to the model and draw rows."""
    if table.n_rows < 2:
        raise ExplainError(
            Reason.EMPTY_TABLE,
            f"the table has {table.n_rows} rows; an explanation needs at least 2",
            "table",
        )
    if question.target_column:
        table.column(question.target_column, "target_column")
    others = (question.target_column, question.weight_column)
    features = bind(model.inputs, table, question.feature_columns, others)
    row_count = question.row_count or _DEFAULT_ROW_COUNT
    drawn = draw(table.n_rows, row_count, question.seed)
    weighed = weights(table, question.weight_column)
    if not weighed[drawn].any():
        raise ExplainError(
            Reason.INVALID_WEIGHTS,
            f"all {len(drawn)} rows drawn have weight 0 in column {question.weight_column!r}; "
            "raise row_count, or leave out rows of weight 0",
            "weight_column",
        )
    return _Rows(table, features, weighed, drawn, row_count, question.seed)


def _outputs(model: Model, indices: Sequence[int]) -> Indices:
    n_outputs = len(model.output_names)
    wrong = [index for index in indices if not 0 <= index < n_outputs]
    if wrong or len(set(indices)) < len(indices):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"output_indices are {list(indices)}; each must be in [0, {n_outputs - 1}], none twice",
            "output_indices",
        )
    return np.array(indices or range(n_outputs), dtype=np.intp)


def _prepare(effects: Effects, rows: _Rows, options: Options, path: str) -> _Job:
    names = rows.features.names
    if isinstance(options, interactions.Options):
        resolved = interactions.resolve(options, names, f"{path}.interactions")
        return _prepare_interactions(effects, rows, resolved)
    return _prepare_curves(
        effects,
        rows,
        partial_dependence.resolve(options, names, f"{path}.partial_dependence"),
        path,
    )


def _prepare_interactions(effects: Effects, rows: _Rows, options: interactions.Options) -> _Job:
    background = effects.background
    if options.quantile_bin_count:
        binned = interactions.approximate(rows.features.take(rows.drawn), options)
        background = merge(binned, rows.weights[rows.drawn], rows.drawn)
    # An engine of its own, so that what is planned for this method is done in it.
    effects = effects.restrict(background)
    cost = interactions.cost(effects, options)
    return _Job(options, cost, lambda: interactions.compute(effects, options))


def _prepare_curves(
    effects: Effects, rows: _Rows, options: partial_dependence.Options, path: str
) -> _Job:
    features = rows.features
    points = partial_dependence.grids(features, options)
    for names, grid in zip(options.features, points, strict=True):
        for name, values in zip(names, grid, strict=True):
            features.cast(features.index(name), values)
    parts = _parts(effects, rows, options, f"{path}.partial_dependence.group_column")
    cost = partial_dependence.cost(points, parts)
    return _Job(options, cost, lambda: partial_dependence.compute(effects, options, points, parts))


def _parts(
    effects: Effects, rows: _Rows, options: partial_dependence.Options, path: str
) -> list[partial_dependence.Part]:
    """Split the table by the group column, and draw rows within each group."""
    if not options.group_column:
        return [partial_dependence.Part("", effects.background)]
    parts = []
    for group in split(rows.table.column(options.group_column, path), options.group_count):
        drawn = group.rows[draw(len(group.rows), rows.row_count, rows.seed)]
        if not rows.weights[drawn].any():
            raise ExplainError(
                Reason.INVALID_WEIGHTS,
                f"all rows with {options.group_column} {group.label} have weight 0; "
                "a group must weigh something",
                path,
            )
        background = rows.background(rows.features, drawn)
        parts.append(partial_dependence.Part(group.label, background))
    return parts


def _explain(job: _Job, *, plots: bool) -> Explanation:
    result = job.run()
    return Explanation(job.options, result, _plots(result) if plots else ())


def _plots(result: Result) -> tuple[Plot, ...]:
    if isinstance(result, interactions.Result):
        return interaction_plots.plots(result)
    return partial_dependence_plots.plots(result)


def _notes(rows: _Rows) -> list[Note]:
    """Say what of the table should temper the trust in the numbers."""
    notes = []
    if len(rows.drawn) < rows.table.n_rows:
        notes.append(
            Note(
                "ROWS_DRAWN",
                f"{len(rows.drawn):,} of {rows.table.n_rows:,} rows were drawn (seed {rows.seed}); "
                "other draws give somewhat other numbers, fewer of them with a higher row_count.",
            )
        )
    constant = tuple(
        name
        for name, column in zip(rows.features.names, rows.features.columns, strict=True)
        if len(np.unique(column)) == 1
    )
    if constant:
        notes.append(
            Note(
                "CONSTANT_FEATURE",
                f"Constant in this table, so nothing can be said of them: {listed(constant)}.",
            )
        )
    return notes
