"""Sums: tensors as affine functions of tensors that terms are read from, backwards through a graph.

The walk carries the coefficients of the outputs for each value of a tensor's rows, as the
derivative of a network is computed: it starts with the outputs and ends at tensors in which each
value is computed from one feature, or at a link function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from onnx import NodeProto, TensorProto

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.terms.feature_sets import is_at_most_pairs, is_single
from onnxplain_server.adapters.onnx.terms.linear_machines import linear_machine
from onnxplain_server.adapters.onnx.terms.linear_steps import (
    STEPS,
    AffineSum,
    Coefficients,
    Passed,
    Step,
    moved_back,
)
from onnxplain_server.adapters.onnx.terms.operators import (
    MOVES,
    ONE_BY_ONE,
    REDUCING,
    SPREADS,
    move_of,
)
from onnxplain_server.adapters.onnx.terms.row_operator import RowOperator
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import ML, attribute
from onnxplain_server.trees.reading.refusal import RefusedError

_STEPS: Mapping[tuple[str, str], Step] = {**STEPS, (ML, "SVMRegressor"): linear_machine}
_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE})
_OF_FLOATS = frozenset(
    {
        *("Scaler", "LinearRegressor", "LinearClassifier", "OneHotEncoder", "FeatureVectorizer"),
        *("TreeEnsembleRegressor", "TreeEnsembleClassifier", "SVMRegressor", "Normalizer"),
    }
)
"""Operators of ai.onnx.ml whose last output is float32, whatever they take."""
_OTHER_TYPES = frozenset(
    {
        *("Cast", "IsNaN", "IsInf", "Not", "Equal", "Greater", "Less", "GreaterOrEqual"),
        *("LessOrEqual", "And", "Or", "Xor", "Where"),
    }
)
"""Operators whose output has another type than their first input."""
_SAME_TYPE = {*MOVES, *SPREADS, *ONE_BY_ONE, *REDUCING, *STEPS, ("", "Softmax")}


def float_tensors(graph: Graph, inferred: Mapping[str, int]) -> frozenset[str]:
    """Return the tensors that are certainly float32 or float64, beside those that are inferred."""
    constants = {tensor.name: tensor.data_type for tensor in graph.model.graph.initializer}
    types = constants | dict(inferred)
    for node in graph.model.graph.node:
        if node.domain == ML and node.op_type in _OF_FLOATS:
            types.setdefault(node.output[-1], TensorProto.FLOAT)
        if node.op_type == "Cast":
            types.setdefault(node.output[0], attribute(node, "to", TensorProto.UNDEFINED))
        is_kept = RowOperator(graph, node).name in _SAME_TYPE and node.op_type not in _OTHER_TYPES
        known = [types[name] for name in node.input if name in types]
        if is_kept and known and node.domain != ML:
            for name in node.output:
                types.setdefault(name, known[0])
    return frozenset(name for name, kind in types.items() if kind in _FLOATS)


@dataclass(eq=False)
class SumReader:
    """Reads affine sums from a graph.

    Attributes
    ----------
    graph : Graph
    dependence : mapping of tensor name to integers
        See `read_dependence`.
    floats : frozenset of str
        Tensors of float32 or float64.
    is_link : callable (NodeProto) -> bool
        Whether to stop at a node, as one that computes a link function.
    takes_pairs : bool
        Whether to stop at a tensor of pairs of features where no linear step leads further.
    """

    graph: Graph
    dependence: Mapping[str, Array]
    floats: frozenset[str]
    is_link: Callable[[NodeProto], bool]
    takes_pairs: bool = False
    _positions: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        nodes = enumerate(self.graph.model.graph.node)
        self._positions = {name: i for i, node in nodes for name in node.output if name}

    def read(self, starts: Mapping[str, Array]) -> AffineSum:
        """Read the sums that tensors are.

        Parameters
        ----------
        starts : mapping of tensor name to (n_results, *shape of a row)
            Coefficients of the results for each tensor.

        Raises
        ------
        RefusedError
            If one is no such sum.
        """
        count = len(next(iter(starts.values())))
        found = AffineSum({}, np.zeros(count), np.zeros(count))
        waiting = {name: Coefficients(own, np.abs(own)) for name, own in starts.items()}
        while waiting:
            tensor = max(waiting, key=lambda name: self._positions.get(name, -1))
            own = waiting.pop(tensor)
            node = self.graph.producer(tensor)
            if self._is_part(tensor):
                found.parts[tensor] = own
                continue
            if node is None:
                raise RefusedError("it computes with a tensor that is not known row by row")
            for name, part in self._passed(node, tensor, own, found):
                waiting[name] = waiting[name] + part if name in waiting else part
        return found

    def _passed(self, node: NodeProto, tensor: str, own: Coefficients, found: AffineSum) -> Passed:
        """Pass coefficients on, or keep a tensor of pairs that is no sum."""
        added = found.start_again()
        try:
            passed = self._through(node, tensor, own, added)
        except RefusedError:
            features = self.dependence.get(tensor)
            if not self.takes_pairs or features is None or not is_at_most_pairs(features):
                raise
            found.parts[tensor] = own
            return []
        found.add(added)
        return passed

    def is_behind_link(self, tensor: str) -> bool:
        """Return whether a tensor is the result of a link function of several features."""
        features, node = self.dependence.get(tensor), self.graph.producer(tensor)
        is_known = features is not None and is_single(features)
        return not is_known and node is not None and self.is_link(node)

    def _is_part(self, tensor: str) -> bool:
        features = self.dependence.get(tensor)
        is_term = features is not None and is_single(features)
        return is_term or self.is_behind_link(tensor)

    def _through(self, node: NodeProto, tensor: str, own: Coefficients, found: AffineSum) -> Passed:
        operator = RowOperator(self.graph, node)
        step = _STEPS.get(operator.name)
        move = move_of(operator)
        if tensor not in self.dependence:
            raise RefusedError(f"its {node.op_type} is not known to work row by row")
        if step is None and move is None:
            raise RefusedError(f"its {node.op_type} takes several features, and is no sum")
        if tensor not in self.floats:
            raise RefusedError(f"its {node.op_type} adds what is not known as float or double")
        try:
            if move is not None:
                return moved_back(operator, self.dependence, list(node.output).index(tensor), own)
            assert step is not None  # noqa: S101 - else `move` is not None
            return step(operator, self.dependence, own, found)
        except (ValueError, IndexError, TypeError) as fault:
            raise RefusedError(str(fault)) from fault
