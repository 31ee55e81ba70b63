"""FIRM of a table in blocks: bins of all rows, where they can be known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from onnxplain_server.core.table import Table
from onnxplain_server.explain.streaming.streamed_columns import have_all_texts
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.language import ColumnValues, Expression
from onnxplain_server.methods import firm
from onnxplain_server.methods.firm import Estimator, Options, Result, ScoredRows, ScoreSource
from onnxplain_server.methods.firm.result import PairGrid
from onnxplain_server.methods.firm.streamed import FirmPass, FirmSums, cut_ranks, cut_streamed
from onnxplain_server.trees.streaming.blocks import Sums
from onnxplain_server.trees.streaming.column_summary import summarize
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

    That is with another source than the model, contrasts, replicates, or an estimator that needs
    more than bins; and where rows of unequal weight, or texts, have too many distinct values.
    """
    is_by_bins = options.estimator in _BY_BINS and options.source is ScoreSource.MODEL
    if not is_by_bins or options.contrasts or options.resampling.repeat_count:
        return None
    trees, rows = task.request.streamed_trees, task.request.resources.streamed
    if trees is None or rows is None:
        return None
    sample = task.sample
    computed = _Computed(trees, expressions, sample.table)
    ranks = cut_ranks(options.bin_count)
    names = tuple(each.text for each in expressions)
    known = compute_columns(sample.table, expressions)
    summaries = summarize(computed, known, dict.fromkeys(names, ranks))
    is_even = rows.survey.smallest_weight == rows.survey.largest_weight
    are_known = all(each.sums.is_complete for each in summaries.values())
    if not have_all_texts(summaries.values()) or not (is_even or are_known):
        return None
    cut = partial(cut_streamed, bin_count=options.bin_count, is_even=is_even)
    cuts = tuple(cut(summaries[name]) for name in names)

    def run() -> Result:
        drawn = sample.rows
        effects = task.effects.restrict(sample.unmerged(drawn))
        weights, scores = sample.weights[drawn], effects.outputs()
        columns = ColumnValues(sample.table.columns, drawn)
        numbers = sample.table.as_sent(drawn)
        scored = ScoredRows(columns, weights, scores, effects.output_names, numbers)
        work = FirmPass(names, cuts, np.average(scores, axis=0, weights=weights))
        sums = cast("FirmSums", computed.sum(work))
        result = firm.compute_streamed(expressions, cuts, work, sums, options, scored)
        return firm.complete(result, (), tuple(pair_grids))

    return Job(options, rows.row_count + len(sample.rows), run, rows.used(), is_streamed=True)
