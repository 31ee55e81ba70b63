"""Closed-form features: linear combinations of columns, and thresholds of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onnxplain_server.methods.firm.language.tree import (
    ColumnReference,
    Constant,
    Expression,
    Node,
    Operation,
    ValueKind,
)


@dataclass(frozen=True, slots=True)
class Linear:
    """Linear combination of columns, plus a constant."""

    coefficients: Mapping[str, float]
    constant: float = 0.0

    def plus(self, other: Linear, factor: float = 1.0) -> Linear:
        """Add another combination, times a factor."""
        names = {**self.coefficients, **other.coefficients}
        summed = {
            name: self.coefficients.get(name, 0.0) + factor * other.coefficients.get(name, 0.0)
            for name in names
        }
        return Linear(summed, self.constant + factor * other.constant)

    def times(self, factor: float) -> Linear:
        """Multiply by a factor."""
        return Linear({}).plus(self, factor)


@dataclass(frozen=True, slots=True)
class Threshold:
    """Condition that a linear feature is above 0, or below if `is_above` is false."""

    linear: Linear
    is_above: bool


def form_of(expression: Expression) -> Linear | Threshold | None:
    """Return the closed form of a feature; None if it has none."""
    root = expression.root
    if isinstance(root, Operation) and root.name in {"<", "<=", ">", ">="}:
        left, right = (_linear(operand) for operand in root.operands)
        if left is None or right is None:
            return None
        return Threshold(left.plus(right, -1.0), root.name in {">", ">="})
    return _linear(root)


def _linear(node: Node) -> Linear | None:  # noqa: PLR0911 - one per kind of node
    match node:
        case ColumnReference(kind=ValueKind.NUMBER):
            return Linear({node.name: 1.0})
        case Constant(value=float()):
            return Linear({}, float(node.value))
        case Operation(name="+" | "-"):
            left, right = (_linear(operand) for operand in node.operands)
            if left is None or right is None:
                return None
            return left.plus(right, 1.0 if node.name == "+" else -1.0)
        case Operation(name="*" | "/"):
            return _scaled(node)
        case Operation(name="negative"):
            inner = _linear(node.operands[0])
            return None if inner is None else inner.times(-1.0)
        case _:
            return None


def _scaled(node: Operation) -> Linear | None:
    """Multiply or divide by a constant."""
    left, right = (_linear(operand) for operand in node.operands)
    if left is None or right is None:
        return None
    if node.name == "*" and not left.coefficients:
        left, right = right, left
    if right.coefficients or (node.name == "/" and right.constant == 0):
        return None
    return left.times(right.constant if node.name == "*" else 1 / right.constant)
