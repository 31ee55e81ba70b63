"""Reading of additive models: sums of terms, their link, and the graph cut to the terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from onnx import ModelProto

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.analysis.outputs import OutputTensor
from onnxplain_server.adapters.onnx.analysis.precision import element_types
from onnxplain_server.adapters.onnx.inputs import Feed
from onnxplain_server.adapters.onnx.large_values import NO_VALUES
from onnxplain_server.adapters.onnx.terms.cut_graph import CutGraph, JoinedTensors
from onnxplain_server.adapters.onnx.terms.dependence import read_dependence, single_parts
from onnxplain_server.adapters.onnx.terms.feature_sets import is_pair, is_single, pair_of
from onnxplain_server.adapters.onnx.terms.kernel_sums import KernelReader, has_kernels
from onnxplain_server.adapters.onnx.terms.kernel_tensors import without_aligned_constants
from onnxplain_server.adapters.onnx.terms.linear_steps import AffineSum
from onnxplain_server.adapters.onnx.terms.link_nodes import is_link
from onnxplain_server.adapters.onnx.terms.linked_sums import read_linked
from onnxplain_server.adapters.onnx.terms.sums import SumReader, float_tensors
from onnxplain_server.additive.kernel_model import KernelModel
from onnxplain_server.additive.model import AdditiveModel, TermSums
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.refusal import Refusal, RefusedError


def read_additive(
    proto: ModelProto,
    parts: Sequence[OutputTensor],
    feeds: Sequence[Feed],
    rows: Mapping[str, Array],
    values: Mapping[str, Array] = NO_VALUES,
) -> AdditiveModel | KernelModel | Refusal:
    """Read a model as a link of sums of terms, or as a weighted sum of kernels.

    Parameters
    ----------
    proto : ModelProto
        Cut to its outputs.
    parts : sequence of OutputTensor
        Tensors of the outputs.
    feeds : sequence of Feed
        Its inputs.
    rows : mapping of input name to (n_rows, width)
        Rows, which show the width of an input that does not declare it.
    values : mapping of name to array
        Of its tensors that are apart.

    Returns
    -------
    AdditiveModel, KernelModel or Refusal
        The refusal says why the outputs are no such sums.
    """
    graph = Graph(proto, values)
    shapes = {f.input.name: () if f.is_flat else rows[f.input.name].shape[1:] for f in feeds}
    widths = [shapes[value.name] for value in graph.inputs]
    try:
        return _read(graph, widths, parts, feeds)
    except RefusedError as refused:
        if not has_kernels(proto):
            return Refusal(refused.reason)
    try:
        reader = KernelReader.of(Graph(without_aligned_constants(proto), values), widths)
        return reader.read(_outputs(parts, reader.tensors.dependence), feeds)
    except RefusedError as refused:
        return Refusal(refused.reason)


def _read(
    graph: Graph,
    widths: Sequence[tuple[int, ...]],
    parts: Sequence[OutputTensor],
    feeds: Sequence[Feed],
) -> AdditiveModel:
    dependence = read_dependence(graph, widths)
    floats = float_tensors(graph, element_types(graph.model))
    reader = SumReader(graph, dependence, floats, partial(is_link, graph), takes_pairs=True)
    linked = read_linked(reader, _outputs(parts, dependence))
    sums = linked.sums
    sets = np.concatenate([dependence[name].reshape(-1) for name in sums.parts])
    pairs = [pair_of(code) if is_pair(code) else (max(code, 0), -1) for code in sets.tolist()]
    features, partners = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return AdditiveModel(
        JoinedTensors(CutGraph(graph, feeds, {name: dependence[name].size for name in sums.parts})),
        features,
        partners,
        _term_sums(sums),
        linked.link,
        linked.combination,
        _Prepared(graph, feeds, dependence, list(sums.parts)),
    )


def _outputs(parts: Sequence[OutputTensor], dependence: Mapping[str, Array]) -> Mapping[str, Array]:
    """Return the coefficients of the outputs, one after the other, for their tensors."""
    starts: dict[str, Array] = {}
    if any(part.is_label for part in parts):
        raise RefusedError("it gives labels only")
    if any(part.tensor not in dependence for part in parts):
        raise RefusedError("its answer is not known to be computed row by row")
    shapes = [dependence[part.tensor].shape for part in parts]
    sizes = [int(np.prod(shape)) for shape in shapes]
    eye = np.eye(sum(sizes))
    ends = np.cumsum(sizes)
    for part, shape, size, end in zip(parts, shapes, sizes, ends, strict=True):
        own = eye[:, end - size : end].reshape(len(eye), *shape)
        starts[part.tensor] = starts.get(part.tensor, 0.0) + own
    return starts


def _term_sums(sums: AffineSum) -> TermSums:
    count = len(sums.offset)
    parts = sums.parts.values()
    return TermSums(
        np.concatenate([part.signed.reshape(count, -1) for part in parts], axis=1),
        sums.offset,
        np.concatenate([part.absolute.reshape(count, -1) for part in parts], axis=1),
        sums.absolute_offset,
        sums.addition_count,
        sums.rounding,
    )


class _Prepared:
    """Inputs of the terms of two features: an `AdditiveModel.prepared`."""

    def __init__(
        self,
        graph: Graph,
        feeds: Sequence[Feed],
        dependence: Mapping[str, Array],
        parts: Sequence[str],
    ) -> None:
        of_pairs = [name for name in parts if not is_single(dependence[name])]
        self._dependence = {
            name: dependence[name] for name in single_parts(graph, dependence, of_pairs)
        }
        sizes = {name: own.size for name, own in self._dependence.items()}
        self._cut = CutGraph(graph, feeds, sizes)

    def __call__(self, feeds: Mapping[str, Array]) -> Mapping[int, list[Array]]:
        """Compute what each feature gives its pairs: (n_rows,) arrays."""
        prepared: dict[int, list[Array]] = {}
        for tensor, features in zip(self._cut(feeds), self._dependence.values(), strict=True):
            for place, feature in enumerate(features.reshape(-1).tolist()):
                if feature >= 0:
                    prepared.setdefault(feature, []).append(tensor[:, place])
        return prepared
