"""Closed forms: linear combinations of columns, thresholds and exponentials of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onnxplain_server.language.tree import (
    ColumnReference,
    Computation,
    Constant,
    Expression,
    Node,
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


@dataclass(frozen=True, slots=True)
class Exponentials:
    """Constant plus a sum of exponentials of linear combinations, each times a factor."""

    arguments: tuple[Linear, ...]
    factors: tuple[float, ...]
    constant: float


def form_of(expression: Expression) -> Linear | Threshold | None:
    """Return the closed form of a feature; None if it has none."""
    root = expression.root
    if isinstance(root, Computation) and root.name in {"<", "<=", ">", ">="}:
        left, right = (_linear(operand) for operand in root.operands)
        if left is None or right is None:
            return None
        return Threshold(left.plus(right, -1.0), root.name in {">", ">="})
    return _linear(root)


def exponentials_of(expression: Expression) -> Exponentials | None:
    """Return an expression as a sum of exponentials of linear combinations; None if it is none."""
    arguments: list[Linear] = []

    def exponential(node: Node) -> Linear | None:
        """Number an exponential, whose argument is kept in `arguments`."""
        if not (isinstance(node, Computation) and node.name in {"exp", "expm1"}):
            return None
        argument = _linear(node.operands[0])
        if argument is None:
            return None
        arguments.append(argument)
        return Linear({str(len(arguments) - 1): 1.0}, -1.0 if node.name == "expm1" else 0.0)

    outer = _linear(expression.root, exponential)
    if outer is None:
        return None
    factors = tuple(outer.coefficients[str(i)] for i in range(len(arguments)))
    return Exponentials(tuple(arguments), factors, outer.constant)


def _column(node: Node) -> Linear | None:
    if isinstance(node, ColumnReference) and node.kind is ValueKind.NUMBER:
        return Linear({node.name: 1.0})
    return None


def _linear(node: Node, basis: Callable[[Node], Linear | None] = _column) -> Linear | None:
    """Return a node as a linear combination of what `basis` names; None if it is none."""
    match node:
        case Constant(value=float()):
            return Linear({}, float(node.value))
        case Computation(name="+" | "-" as sign):
            left, right = (_linear(operand, basis) for operand in node.operands)
            if left is None or right is None:
                return None
            return left.plus(right, 1.0 if sign == "+" else -1.0)
        case Computation(name="*" | "/"):
            return _scaled(node, basis)
        case Computation(name="negative"):
            inner = _linear(node.operands[0], basis)
            return None if inner is None else inner.times(-1.0)
        case _:
            return basis(node)


def _scaled(node: Computation, basis: Callable[[Node], Linear | None]) -> Linear | None:
    """Multiply or divide by a constant."""
    left, right = (_linear(operand, basis) for operand in node.operands)
    if left is None or right is None:
        return None
    if node.name == "*" and not left.coefficients:
        left, right = right, left
    if right.coefficients or (node.name == "/" and right.constant == 0):
        return None
    return left.times(right.constant if node.name == "*" else 1 / right.constant)
