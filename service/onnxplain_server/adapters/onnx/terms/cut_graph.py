"""Graph cut to some of its tensors, computed by the runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.evaluation import RowBatches, Run
from onnxplain_server.adapters.onnx.faults import prediction_failed
from onnxplain_server.adapters.onnx.inputs import Feed
from onnxplain_server.core.arrays import Array, Matrix


class CutGraph:
    """Graph cut to some of its tensors.

    Parameters
    ----------
    graph : Graph
    feeds : sequence of Feed
    sizes : mapping of tensor name to int
        Values of a row of each tensor wanted; some may be inputs of the graph.
    """

    def __init__(self, graph: Graph, feeds: Sequence[Feed], sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._computed = [name for name in sizes if graph.producer(name) is not None]
        self._cut = graph.cut(self._computed)
        self._values = graph.values
        self._feeds = feeds

    @cached_property
    def _run(self) -> Run:
        return RowBatches(self._cut, self._feeds, self._values).batched

    def __call__(self, feeds: Mapping[str, Array]) -> list[Array]:
        """Compute the tensors of rows: (n_rows, n_values) each.

        Raises
        ------
        ExplainError
            PREDICTION_FAILED if the runtime fails.
        """
        count = len(next(iter(feeds.values())))
        tensors = dict(feeds)
        if self._computed:
            try:
                answers = self._run(feeds)
            except Exception as fault:  # noqa: BLE001 - foreign errors of any type end here
                raise prediction_failed(fault) from None
            tensors.update(zip(self._computed, answers, strict=True))
        return [tensors[name].reshape(count, size) for name, size in self._sizes.items()]


class JoinedTensors:
    """Values of a cut graph side by side: the front of a model.

    Parameters
    ----------
    cut : CutGraph
    """

    def __init__(self, cut: CutGraph) -> None:
        self._cut = cut

    def __call__(self, feeds: Mapping[str, Array]) -> Matrix:
        """Compute the values of rows: (n_rows, n_values), in float64."""
        values = [tensor.astype(np.float64) for tensor in self._cut(feeds)]
        return np.concatenate(values, axis=1) if len(values) > 1 else values[0]
