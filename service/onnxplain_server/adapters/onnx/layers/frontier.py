"""Frontier of a graph: the last tensors whose values are made of one part for each feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.adapters.onnx.terms.feature_sets import is_single
from onnxplain_server.adapters.onnx.terms.linear_steps import STEPS, AffineSum
from onnxplain_server.adapters.onnx.terms.operators import MOVES
from onnxplain_server.adapters.onnx.terms.row_operator import RowOperator
from onnxplain_server.adapters.onnx.terms.sums import SumReader
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import tensors_read
from onnxplain_server.trees.reading.refusal import RefusedError

MOST_VALUES = 4096
"""Values of a row of all tensors of a frontier: more take as much time as most networks."""


@dataclass(eq=False)
class FrontierReader:
    """Finds the tensors that a graph is cut at.

    Attributes
    ----------
    sums : SumReader
        Of the graph, without links.
    """

    sums: SumReader

    def read(self, outputs: Sequence[str], *, adds: bool) -> Mapping[str, AffineSum | None]:
        """Walk back from outputs, to tensors of single features, or to sums of such.

        Parameters
        ----------
        adds : bool
            Whether sums are taken; otherwise, all tensors are of single features.

        Returns
        -------
        mapping of tensor name to AffineSum or None
            None for tensors each value of which is computed from one feature.

        Raises
        ------
        RefusedError
            If a row has too many values there.
        """
        graph = self.sums.graph
        waiting, seen = list(outputs), set[str]()
        found: dict[str, AffineSum | None] = {}
        while waiting:
            tensor = waiting.pop()
            if not tensor or tensor in seen or graph.constant(tensor) is not None:
                continue
            seen.add(tensor)
            if self._is_apart(tensor):
                found[tensor] = None
            elif adds and (own := self._sum(tensor)) is not None:
                found[tensor] = own
            elif (node := graph.producer(tensor)) is not None:
                waiting.extend(tensors_read(node))
        dependence = self.sums.dependence
        if sum(dependence[tensor].size for tensor in found) > MOST_VALUES:
            raise RefusedError("its first layer is too wide")
        return found

    def _is_apart(self, tensor: str) -> bool:
        features = self.sums.dependence.get(tensor)
        return features is not None and is_single(features)

    def _sum(self, tensor: str) -> AffineSum | None:
        if tensor not in self._affine:
            return None
        shape = self.sums.dependence[tensor].shape
        size = int(np.prod(shape))
        if size > MOST_VALUES:
            raise RefusedError("its first layer is too wide")
        try:
            return self.sums.read({tensor: np.eye(size).reshape(size, *shape)})
        except RefusedError:
            return None

    @cached_property
    def _affine(self) -> frozenset[str]:
        """Tensors that may be sums, by the operators on the way to them."""
        graph, dependence = self.sums.graph, self.sums.dependence
        affine = {name for name in dependence if self._is_apart(name)}
        for node in graph.model.graph.node:
            name = RowOperator(graph, node).name
            known = [each for each in node.input if each and graph.constant(each) is None]
            if (name in STEPS or name in MOVES) and all(each in affine for each in known):
                affine.update(
                    each for each in node.output if each in self.sums.floats & dependence.keys()
                )
        return frozenset(affine)


def features_of(dependence: Array) -> Array:
    """Return the feature of each value of a row; the first one for values of none."""
    return np.maximum(dependence.reshape(-1), 0)
