"""Operator of a graph that works row by row, with what it says of its axes and constants."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import NodeProto

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import attribute


class RowOperator(NamedTuple):
    """Node of a graph, and the graph for its constants."""

    graph: Graph
    node: NodeProto

    @property
    def name(self) -> tuple[str, str]:
        """Domain and operator."""
        domain = "" if self.node.domain == "ai.onnx" else self.node.domain
        return domain, self.node.op_type

    def value(self, name: str, default: object = None) -> object:
        """Return an attribute."""
        return attribute(self.node, name, default)

    def constant(self, position: int) -> Array:
        """Return an input that must be constant.

        Raises
        ------
        ValueError
            If it is missing or depends on rows.
        """
        name = self.node.input[position] if position < len(self.node.input) else ""
        values = self.graph.constant(name) if name else None
        if values is None:
            raise ValueError(f"its {self.node.op_type} takes no constant")
        return values

    def integers(self, name: str, position: int) -> tuple[int, ...]:
        """Return a list that is an attribute in older operators, and an input in newer ones."""
        listed = self.value(name)
        values = self.constant(position) if listed is None else np.array(listed)
        return tuple(int(value) for value in values.reshape(-1))

    def axis(self, rank: int, default: int = 0) -> int:
        """Return the attribute `axis` among the axes of a row; see `row_axis`."""
        return row_axis(int(str(self.value("axis", default))), rank)


def row_axis(axis: int, rank: int) -> int:
    """Return an axis of a tensor as one of a row, which has `rank` of them.

    Raises
    ------
    ValueError
        For the axis of the rows.
    """
    own = axis - 1 if axis >= 0 else axis + rank
    if not 0 <= own < rank:
        raise ValueError("an operator works across rows")
    return own
