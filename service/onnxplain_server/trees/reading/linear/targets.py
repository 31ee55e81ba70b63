"""Targets of a graph, numbered as they are visited: sums of leaves, and columns of features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import NodeProto

from onnxplain_server.core.arrays import Indices
from onnxplain_server.trees.reading import column_moves
from onnxplain_server.trees.reading.linear.operators import LINEAR, LinearMap, read_linear
from onnxplain_server.trees.reading.linear.part import LinearPart
from onnxplain_server.trees.reading.refusal import RefusedError
from onnxplain_server.trees.reading.tensor_columns import Column, FeatureSteps
from onnxplain_server.trees.reading.tensors import BEFORE_TREES, FeatureColumns, Scores


class Targets:
    """Targets that scores are affine in.

    Attributes
    ----------
    count : int
    columns : dict of Column to int
        Numbers of those targets that are columns of features, in their order.
    """

    def __init__(self) -> None:
        self.count = 0
        self.columns: dict[Column, int] = {}

    def sums(self, count: int) -> int:
        """Number sums of leaves; return the first number."""
        first = self.count
        self.count += count
        return first

    def apply(
        self, node: NodeProto, operand: FeatureColumns | Scores, inputs: column_moves.Inputs
    ) -> FeatureColumns | Scores:
        """Apply an operator, linear or not, to columns or scores."""
        if node.op_type not in LINEAR:
            return column_moves.apply(node, operand, inputs)
        linear = read_linear(node, inputs, column_moves.width(operand))
        if isinstance(operand, FeatureColumns):
            return self._spread(operand, linear)
        matrix, offset = linear
        whole = matrix @ operand.offset + offset
        return replace(operand, matrix=matrix @ operand.matrix, offset=whole)

    def of_columns(self, operand: FeatureColumns) -> Scores:
        """Return columns of features as they are, to be added to sums over trees."""
        count = len(operand.columns)
        return self._spread(operand, LinearMap(np.eye(count), np.zeros(count)))

    def steps(self) -> set[int]:
        """Return the features of which numbers are taken, and not looked up."""
        return {column.feature for column in self.columns if isinstance(column, FeatureSteps)}

    def _spread(self, operand: FeatureColumns, linear: LinearMap) -> Scores:
        """Return a linear map of columns of features as scores."""
        numbers = [self._number(column) for column in operand.columns]
        spread = np.zeros((len(linear.offset), self.count))
        for number, coefficients in zip(numbers, linear.matrix.T, strict=True):
            spread[:, number] += coefficients  # a column may be taken twice
        return Scores(spread, linear.offset)

    def _number(self, column: Column) -> int:
        if column.is_text:
            raise RefusedError(f"the model adds text {BEFORE_TREES}")
        if column not in self.columns:
            self.columns[column] = self.sums(1)
        return self.columns[column]

    def has_columns(self, scores: Scores) -> bool:
        """Return whether sums, which may be scaled, have a column of features in them."""
        return not set(self._used(scores)).isdisjoint(self.columns.values())

    def is_linear(self, scores: Scores) -> bool:
        """Return whether scores are linear functions of features, without trees."""
        used = self._used(scores)
        is_sum = bool(used) and not scores.is_exponential
        return is_sum and set(used) <= set(self.columns.values())

    @staticmethod
    def _used(scores: Scores) -> list[int]:
        used: list[int] = np.flatnonzero(scores.matrix.any(axis=0)).tolist()
        return used

    def trees(self) -> Indices:
        """Return the numbers of the sums of leaves, ascending."""
        return np.delete(np.arange(self.count), self._numbers())

    def _numbers(self) -> Indices:
        return np.array(list(self.columns.values()), dtype=np.intp)

    def separate(self, scores: Scores) -> tuple[Scores, LinearPart]:
        """Separate what scores have of trees from what they have of features."""
        wide = scores.wide(self.count)
        columns = tuple(self.columns)
        linear = LinearPart(columns, wide.matrix[:, self._numbers()])
        return replace(wide, matrix=wide.matrix[:, self.trees()]), linear
