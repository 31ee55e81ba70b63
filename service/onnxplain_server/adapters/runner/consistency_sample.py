"""Rows of a table that a model's consistency is checked on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onnxplain_server.core.model import HasInputs
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import Background, merge
from onnxplain_server.explain import BoundTable, Question
from onnxplain_server.explain.streaming.streamed_rows import StreamedRows
from onnxplain_server.trees.streaming.row_blocks import LargeTable

_ROW_COUNT = 16
"""Rows, each evaluated alone and among the others."""


def consistency_sample(table: BoundTable) -> Background:
    """Return rows at equal distances, equal ones merged.

    Raises
    ------
    ExplainError
        Where explaining the table raises the same error, with its field.
    """
    weighted = table.weighted
    last = weighted.table.n_rows - 1
    positions = np.unique(np.linspace(0, last, _ROW_COUNT).astype(np.intp))
    source = weighted.table.as_sent(positions)
    return merge(table.features.take(positions), np.ones(len(positions)), source)


def table_sampler(
    rows: Table | None, large: LargeTable | None, question: Question, bind: type[BoundTable]
) -> Callable[[HasInputs], Background | None]:
    """Return a function that samples the table of a request; see `SampleOf`.

    Parameters
    ----------
    rows, large : Table or None, LargeTable or None
        The table, in memory or in blocks.
    question : Question
    bind : type of BoundTable
    """

    def sample_of(model: HasInputs) -> Background | None:
        table = StreamedRows(large, model, question).survey.sample if large else rows
        return consistency_sample(bind(table, question, model)) if table else None

    return sample_of
