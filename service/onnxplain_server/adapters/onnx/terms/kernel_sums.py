"""Kernel sums: a graph as a weighted sum of products of functions of one feature each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.analysis.precision import element_types
from onnxplain_server.adapters.onnx.inputs import Feed
from onnxplain_server.adapters.onnx.terms.cut_graph import CutGraph, JoinedTensors
from onnxplain_server.adapters.onnx.terms.dependence import read_dependence
from onnxplain_server.adapters.onnx.terms.feature_sets import is_single
from onnxplain_server.adapters.onnx.terms.kernel_tensors import Distances, KernelTensors
from onnxplain_server.adapters.onnx.terms.linear_steps import AffineSum
from onnxplain_server.adapters.onnx.terms.sums import SumReader, float_tensors
from onnxplain_server.additive.kernel_model import KernelModel
from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.trees.reading.onnx_nodes import Attributes, post_transform
from onnxplain_server.trees.reading.refusal import RefusedError

_MACHINES = frozenset({"SVMRegressor", "SVMClassifier"})
_MOST_CENTER = 1e150
"""Size of centers from which squares are not finite."""
_MOST_KERNELS, _MOST_NUMBERS = 1 << 20, 1 << 24
"""Most kernels, and numbers of their centers, each with all values that any kernel takes."""


def has_kernels(model: ModelProto) -> bool:
    """Return whether a graph has operators that kernels are made of."""
    return any(node.op_type in _MACHINES | {"Scan"} for node in model.graph.node)


class Kernels(NamedTuple):
    """Kernels of the same distances, with their weights.

    Attributes
    ----------
    distances : tuple of Distances
        Whose sum is the exponent.
    weights : (n_outputs, n_kernels)
    """

    distances: tuple[Distances, ...]
    weights: Matrix


@dataclass(eq=False)
class KernelReader:
    """Reads weighted sums of kernels from a graph.

    Attributes
    ----------
    graph : Graph
    tensors : KernelTensors
    floats : frozenset of str
        Tensors of float32 or float64.
    """

    graph: Graph
    tensors: KernelTensors
    floats: frozenset[str]

    @classmethod
    def of(cls, graph: Graph, widths: Sequence[tuple[int, ...]]) -> KernelReader:
        """Follow kernels through a graph; `widths` as in `read_dependence`."""
        tensors = KernelTensors(graph)
        read_dependence(graph, widths, tensors.dependence, tensors.follow)
        return cls(graph, tensors, float_tensors(graph, element_types(graph.model)))

    def read(self, starts: Mapping[str, Array], feeds: Sequence[Feed]) -> KernelModel:
        """Read outputs; `starts` as in `SumReader.read`.

        Raises
        ------
        RefusedError
            If they are no such sums.
        """
        reader = SumReader(self.graph, self.tensors.dependence, self.floats, self._is_kernels)
        sums = reader.read(starts)
        offset = sums.offset.copy()
        kernels = [own for name in sums.parts for own in self._kernels(name, sums, offset)]
        return self._joined(kernels, offset, sums, feeds)

    def _is_kernels(self, node: NodeProto) -> bool:
        return node.output[0] in self.tensors.kernels or node.op_type in _MACHINES

    def _kernels(self, tensor: str, sums: AffineSum, offset: Vector) -> list[Kernels]:
        """Return the kernels behind a part of the sums, and add what is constant to the offset."""
        own, node = sums.parts[tensor].signed, self.graph.producer(tensor)
        if node is None or not self._is_kernels(node):
            raise RefusedError("it adds terms of single features to kernels")
        if own.shape[1:] != self.tensors.dependence[tensor].shape:
            raise RefusedError("its kernels have another width than their weights")
        if tensor in self.tensors.kernels:
            products = self.tensors.kernels[tensor]
            constant = sum(each.factor for each in products if not each.distances)
            offset += constant * own.sum(axis=1)
            return [
                Kernels(each.distances, each.factor * own) for each in products if each.distances
            ]
        distances, coefficients, intercepts = self._machine(node, tensor)
        offset += own @ intercepts
        return [Kernels((distances,), own @ coefficients)]

    def _machine(self, node: NodeProto, tensor: str) -> tuple[Distances, Matrix, Vector]:
        """Return distances, weights (n_scores, n_kernels) and intercepts of a support machine."""
        attributes = Attributes(node)
        kind, parameters = attributes.value("kernel_type"), attributes.numbers("kernel_params")
        if kind != "RBF" or not len(parameters):
            raise RefusedError(f"its {node.op_type} has the kernel {kind}")
        if post_transform(node) != "NONE":
            raise RefusedError(f"its {node.op_type} goes through {post_transform(node)}")
        features = self.tensors.dependence.get(node.input[0])
        if features is None or features.ndim != 1 or not is_single(features):
            raise RefusedError(f"its {node.op_type} takes mixtures of features")
        centers = attributes.numbers("support_vectors").reshape(-1, len(features))
        distances = Distances(node.input[0], centers, float(parameters[0]), is_turned=False)
        weights, intercepts = attributes.numbers("coefficients"), attributes.numbers("rho")
        if len(weights) != len(centers) or len(intercepts) != 1:
            raise RefusedError(f"its {node.op_type} has several scores")
        if node.op_type == "SVMRegressor":
            if attributes.value("one_class", 0):
                raise RefusedError("its SVMRegressor gives classes")
            return distances, weights[np.newaxis], intercepts
        if tensor != node.output[1] or len(attributes.numbers("prob_a")):
            raise RefusedError("its SVMClassifier gives labels or probabilities")
        signs = np.array([[-1.0], [1.0]])
        return distances, signs * weights, signs[:, 0] * intercepts

    def _joined(
        self, kernels: Sequence[Kernels], offset: Vector, sums: AffineSum, feeds: Sequence[Feed]
    ) -> KernelModel:
        """Put kernels side by side, each with a place for all values that any of them takes."""
        every = [own for each in kernels for own in each.distances]
        sizes = {own.tensor: own.centers.shape[1] for own in every}
        ends = dict(zip(sizes, np.cumsum(list(sizes.values())).tolist(), strict=True))
        count, width = sum(each.weights.shape[1] for each in kernels), sum(sizes.values())
        if count > _MOST_KERNELS or count * width > _MOST_NUMBERS:
            raise RefusedError("its kernels have too many centers")
        centers, scales = _placed(kernels, ends, (count, width))
        dependence = self.tensors.dependence
        codes = np.concatenate([dependence[name] for name in sizes])
        return KernelModel(
            JoinedTensors(CutGraph(self.graph, feeds, sizes)),
            np.maximum(codes, 0),  # a value of no feature is the same whatever it is
            centers,
            scales,
            np.concatenate([each.weights for each in kernels], axis=1),
            offset,
            sums.addition_count,
            sums.rounding,
        )


def _placed(
    kernels: Sequence[Kernels], ends: Mapping[str, int], shape: tuple[int, int]
) -> tuple[Matrix, Matrix]:
    """Return centers and scales: (n_kernels, n_values).

    Two distances of the same values add up to one of the mean center, and a constant, which would
    be a factor; they are refused.
    """
    centers, scales = np.zeros(shape), np.zeros(shape)
    first = 0
    for each in kernels:
        rows = slice(first, first + each.weights.shape[1])
        first = rows.stop
        for own in each.distances:
            end = ends[own.tensor]
            columns = slice(end - own.centers.shape[1], end)
            if scales[rows, columns].any() and not np.array_equal(
                centers[rows, columns], own.centers
            ):
                raise RefusedError("its product of kernels has several centers")
            if not own.scale >= 0 or not (np.abs(own.centers) < _MOST_CENTER).all():
                raise RefusedError("its kernels are not known to fall with distance")
            centers[rows, columns] = own.centers
            scales[rows, columns] += own.scale
    return centers, scales
