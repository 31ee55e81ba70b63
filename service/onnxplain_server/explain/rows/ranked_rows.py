"""Draws of whole queries, for scores of rankings."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.explain.sample import Sample
from onnxplain_server.methods.comparison import RowContext
from onnxplain_server.methods.ranking.queries import Queries


def draw_rows(sample: Sample, beside: RowContext | None, count: int, path: str) -> Indices:
    """Draw as many rows as the request asks for, or else `count`; of a ranking, whole queries.

    Parameters
    ----------
    beside : RowContext or None
        Of all rows of the table.
    path : str
        Of the method.

    Raises
    ------
    ExplainError
        INVALID_OPTION for a ranking where the table is in memory in part only, which cuts queries.
    """
    if not isinstance(beside, Queries):
        return sample.draw(sample.rows, count)
    if sample.sampled_from is not None:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "a ranking is scored on whole queries, and the table is read in blocks, of which some "
            "rows are drawn; raise memory_bytes, or send a table of fewer queries",
            f"{path}.loss",
        )
    return _whole_queries(sample, beside.codes, sample.requested_row_count or count)


def _whole_queries(sample: Sample, codes: Indices, count: int) -> Indices:
    """Draw queries in proportion to their number, by their first rows; one at least."""
    own = codes[sample.rows]
    if count >= len(own):
        return sample.rows
    firsts = sample.rows[np.sort(np.unique(own, return_index=True)[1])]
    query_count = max(1, round(len(firsts) * count / len(own)))
    drawn = codes[sample.draw_few(firsts, query_count)]
    return sample.rows[np.isin(own, drawn)]
