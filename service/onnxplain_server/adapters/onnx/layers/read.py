"""Reading of first layers: the front of a graph, its sums, and the rest of the graph as a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from onnx import ModelProto, helper

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.analysis.precision import element_types
from onnxplain_server.adapters.onnx.evaluation import RowBatches, Run
from onnxplain_server.adapters.onnx.inputs import Feed
from onnxplain_server.adapters.onnx.layers.frontier import FrontierReader, features_of
from onnxplain_server.adapters.onnx.layers.gain import pays
from onnxplain_server.adapters.onnx.layers.rest import is_continuous, rest_of
from onnxplain_server.adapters.onnx.terms.cut_graph import CutGraph
from onnxplain_server.adapters.onnx.terms.dependence import read_dependence
from onnxplain_server.adapters.onnx.terms.linear_steps import AffineSum
from onnxplain_server.adapters.onnx.terms.sums import SumReader, float_tensors
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.model import Input, Model
from onnxplain_server.effects.layers.model import FirstLayers, LayerSums, LayerTensor
from onnxplain_server.trees.reading.refusal import Refusal, RefusedError


def read_layers(  # noqa: PLR0917 - a model, as it was opened
    proto: ModelProto,
    tensors: Sequence[str],
    feeds: Sequence[Feed],
    rows: Mapping[str, Array],
    values: Mapping[str, Array],
    behind: Callable[[Run], Model],
) -> FirstLayers | Refusal:
    """Read the first layers of a model.

    Parameters
    ----------
    proto : ModelProto
        Cut to its outputs.
    tensors : sequence of str
        Of the outputs.
    feeds : sequence of Feed
        Its inputs.
    rows : mapping of input name to (n_rows, width)
        Rows that it takes.
    values : mapping of name to array
        Of its tensors that are apart.
    behind : callable (Run) -> Model
        Makes a model with the same outputs that is evaluated in this way.

    Returns
    -------
    FirstLayers or Refusal
        The refusal says why there are none, or that they save nothing.
    """
    try:
        return _LayerReader(Graph(proto, values), tensors, feeds, rows).read(behind)
    except RefusedError as refused:
        return Refusal(refused.reason)


@dataclass(eq=False)
class _LayerReader:
    """Reads first layers; attributes as the parameters of `read_layers`."""

    graph: Graph
    outputs: Sequence[str]
    feeds: Sequence[Feed]
    rows: Mapping[str, Array]

    def read(self, behind: Callable[[Run], Model]) -> FirstLayers:
        found = self._frontier.read(self.outputs, adds=True)
        rest, run = self._rest(found)
        if any(own is not None for own in found.values()) and not is_continuous(rest):
            found = self._frontier.read(self.outputs, adds=False)
            rest, run = self._rest(found)
        sizes = {name: self._dependence[name].size for name in found}
        if not pays(self.graph, self._dependence, sizes, rest):
            raise RefusedError("its first layers save little")
        parts = {name for name, own in found.items() if own is None}
        parts.update(name for own in found.values() if own is not None for name in own.parts)
        front = sorted(parts)
        numbers = {name: number for number, name in enumerate(front)}
        tensors = tuple(self._tensor(name, own, numbers) for name, own in found.items())
        return FirstLayers(
            self._cut(front),
            tuple(features_of(self._dependence[name]) for name in front),
            tensors,
            behind(run),
            self._cut(found),
        )

    @cached_property
    def _dependence(self) -> Mapping[str, Array]:
        flat = {feed.input.name for feed in self.feeds if feed.is_flat}
        return read_dependence(
            self.graph,
            [
                () if value.name in flat else self.rows[value.name].shape[1:]
                for value in self.graph.inputs
            ],
        )

    @cached_property
    def _frontier(self) -> FrontierReader:
        floats = float_tensors(self.graph, element_types(self.graph.model))
        return FrontierReader(SumReader(self.graph, self._dependence, floats, lambda _: False))

    def _rest(self, found: Mapping[str, AffineSum | None]) -> tuple[ModelProto, Run]:
        """Return the rest of the graph, and its evaluation."""
        types = self._types(found)
        if any(dtype.kind not in "fiub" for dtype in types.values()):
            raise RefusedError("it reads texts beside its first layers")
        inputs = [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(dtype),
                ["rows", *self._dependence[name].shape],
            )
            for name, dtype in types.items()
        ]
        rest = rest_of(self.graph, self.outputs, inputs)
        own = [Feed(Input(name, "", None), is_flat=False, row_count=None) for name in found]
        return rest, RowBatches(rest, own, self.graph.values).batched

    def _cut(self, names: Iterable[str]) -> CutGraph:
        sizes = {name: self._dependence[name].size for name in names}
        return CutGraph(self.graph, self.feeds, sizes)

    def _types(self, found: Iterable[str]) -> Mapping[str, np.dtype[np.generic]]:
        names = list(found)
        answers = self._cut(names)(self.rows)
        return {name: answer.dtype for name, answer in zip(names, answers, strict=True)}

    def _tensor(self, name: str, own: AffineSum | None, numbers: Mapping[str, int]) -> LayerTensor:
        dtype, shape = self._types([name])[name], self._dependence[name].shape
        if own is None:
            return LayerTensor(name, dtype, shape, numbers[name])
        count = len(own.offset)
        sums = LayerSums(
            {numbers[part]: each.signed.reshape(count, -1) for part, each in own.parts.items()},
            own.offset,
            {numbers[part]: each.absolute.reshape(count, -1) for part, each in own.parts.items()},
            own.absolute_offset,
            own.addition_count,
            own.rounding,
        )
        return LayerTensor(name, dtype, shape, sums)
