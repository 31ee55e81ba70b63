"""Feature axes of a tree graph: cuts at the ends of tests, text categories, accepted values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, sorted_distinct
from onnxplain_server.trees.reading.axes import END, FIRST, MISSING, Axis, Keys
from onnxplain_server.trees.reading.splits import KeyRuns, known_keys
from onnxplain_server.trees.reading.tensor_columns import Lookup
from onnxplain_server.trees.reading.walk import TreeGraph


def build_axes(graph: TreeGraph, runs: Sequence[list[KeyRuns]]) -> tuple[Axis, ...]:
    """Build one axis per feature, given the runs in which nodes are true, by feature."""
    categories = text_categories(graph)
    accepted = _accepted_runs(graph, categories)
    return tuple(
        Axis(dtype, categories[j], _cuts(runs[j]), accepted[j])
        for j, dtype in enumerate(graph.dtypes)
    )


def _cuts(parts: Sequence[KeyRuns]) -> Keys:
    """Return the keys at which cells start, so that every run consists of whole cells."""
    ends = [keys for part in parts for keys in (part.lows, part.highs)]
    cuts = sorted_distinct(np.concatenate([*ends, np.array([MISSING])]))
    return cuts[(cuts > FIRST) & (cuts < END)]


def _lookups(graph: TreeGraph) -> Iterator[Lookup]:
    for columns in (*(operator.columns for operator in graph.trees), graph.linear.columns):
        yield from (column for column in columns if isinstance(column, Lookup))


def text_categories(graph: TreeGraph) -> list[Array | None]:
    """Collect the categories that the model knows, by feature; None for numbers."""
    texts: list[list[Array]] = [[np.array([], dtype=object)] for _ in graph.dtypes]
    for column in _lookups(graph):
        texts[column.feature].append(column.keys)
    return [
        np.unique(np.concatenate(texts[j])) if dtype.kind == "O" else None
        for j, dtype in enumerate(graph.dtypes)
    ]


def _accepted_runs(
    graph: TreeGraph, categories: Sequence[Array | None]
) -> list[tuple[tuple[Keys, Keys], ...]]:
    """Return runs of keys outside which the model refuses to predict, by feature."""
    accepted: list[dict[bytes, tuple[Keys, Keys]]] = [{} for _ in graph.dtypes]
    for column in _lookups(graph):
        if column.is_strict:
            lows, highs = known_keys(column, categories[column.feature])
            accepted[column.feature][lows.tobytes()] = np.sort(lows), np.sort(highs)
    return [tuple(runs.values()) for runs in accepted]
