"""FIRM of a table in blocks: bins of all rows, where they can be known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from onnxplain_server.core.table import Table
from onnxplain_server.explain.streaming.streamed_columns import known_columns
from onnxplain_server.explain.streaming.streamed_rows import StreamedRows
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.language import ColumnValues, Expression
from onnxplain_server.methods import firm
from onnxplain_server.methods.firm import Estimator, Options, Result, ScoredRows
from onnxplain_server.methods.firm.cuts import Cuts, cut_ranks, cut_streamed, missing_places
from onnxplain_server.methods.firm.result import PairGrid
from onnxplain_server.methods.firm.streamed import FirmPass, FirmSums
from onnxplain_server.methods.resampling import RowUnits
from onnxplain_server.trees.streaming.blocks import Sums
from onnxplain_server.trees.streaming.column_summary import ColumnSummary, find_places
from onnxplain_server.trees.streaming.computed_columns import (
    ComputedPass,
    NamedPass,
    compute_columns,
)
from onnxplain_server.trees.streaming.engine import StreamedTrees
from onnxplain_server.trees.streaming.passes import Pass

_BY_BINS = (None, Estimator.BINNED, Estimator.TWO_VALUED)


@dataclass(frozen=True, slots=True, eq=False)
class _Computed:
    """Sums passes over expressions of the columns."""

    trees: StreamedTrees
    expressions: Sequence[Expression]
    table: Table

    @property
    def names(self) -> tuple[str, ...]:
        """Texts of the expressions."""
        return tuple(each.text for each in self.expressions)

    def sum(self, work: Pass) -> Sums:
        """Sum what a pass says over all rows."""
        kinds = {name: kind.value for name, kind in ColumnValues(self.table.columns).kinds.items()}
        paths = {each.text: each.path for each in self.expressions}
        return self.trees.sum(ComputedPass(cast("NamedPass", work), kinds, paths))


def streamed_firm(
    task: Task,
    options: Options,
    expressions: Sequence[Expression],
    pair_grids: Sequence[PairGrid],
) -> Job[Result] | None:
    """Prepare FIRM on all rows of a table in blocks; None where bins of the sample are taken.

    That is with another source than the model, contrasts, groups, replicates, or an estimator that
    needs more than bins; and where rows of unequal weight, or texts, have too many distinct values.
    """
    is_by_bins = options.estimator in _BY_BINS and not options.reads_target
    if not is_by_bins or options.contrasts or options.groups or options.resampling.repeat_count:
        return None
    if task.all_rows is None:
        return None
    trees, rows = task.all_rows
    computed = _Computed(trees, expressions, task.sample.table)
    cuts = _cuts(computed, rows, options.bin_count)
    if cuts is None:
        return None

    def run() -> Result:
        scored = _scored_sample(task)
        shift = np.average(scored.scores, axis=0, weights=scored.weights)
        work = FirmPass(computed.names, cuts, shift)
        sums = cast("FirmSums", computed.sum(work))
        result = firm.compute_streamed(expressions, cuts, work, sums, options, scored)
        return firm.complete(result, (), tuple(pair_grids))

    cost = rows.row_count + len(task.sample.rows)
    return Job(options, cost, run, rows.used(), is_streamed=True)


def _cuts(computed: _Computed, rows: StreamedRows, bin_count: int) -> tuple[Cuts, ...] | None:
    """Divide the values of each feature; None where they are too many to be known."""
    known = compute_columns(computed.table, computed.expressions)
    ranks = cut_ranks(bin_count)
    summaries = known_columns(computed, known, dict.fromkeys(computed.names, ranks))
    is_even = rows.survey.smallest_weight == rows.survey.largest_weight
    if summaries is None:
        return None
    if not is_even and not all(each.sums.is_complete for each in summaries.values()):
        return None
    _complete_places(computed, known, summaries, bin_count)
    cut = partial(cut_streamed, bin_count=bin_count, is_even=is_even)
    return tuple(cut(summaries[name]) for name in computed.names)


def _complete_places(
    computed: _Computed, known: Table, summaries: Mapping[str, ColumnSummary], bin_count: int
) -> None:
    """Find the places of bins between values that have more rows than a bin, one in the other."""
    while True:
        missing = {name: missing_places(each, bin_count) for name, each in summaries.items()}
        if not any(missing.values()):
            return
        find_places(computed, known, summaries, {n: each for n, each in missing.items() if each})


def _scored_sample(task: Task) -> ScoredRows:
    """Score the rows of the sample."""
    sample = task.sample
    rows = sample.rows
    effects = task.effects.restrict(sample.unmerged(rows))
    columns, units = (
        ColumnValues(sample.table.columns, rows),
        RowUnits(sample.table.as_sent(rows)),
    )
    scores = effects.outputs()
    return ScoredRows(columns, sample.weights[rows], scores, effects.output_names, units)
