"""Expression tree: columns, constants and operations, each with its position in the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class ValueKind(Enum):
    """Kind of the values of a column or of a part of an expression."""

    NUMBER = "a number"
    CONDITION = "a condition"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class ColumnReference:
    """Reference to a column. `place` is the position of its first character, from 0."""

    name: str
    kind: ValueKind
    place: int


@dataclass(frozen=True, slots=True)
class Constant:
    """Number or string literal."""

    value: float | str
    kind: ValueKind
    place: int


@dataclass(frozen=True, slots=True)
class Computation:
    """Computation on operands; `name` is a key of `evaluate.OPERATIONS`."""

    name: str
    operands: tuple[Node, ...]
    kind: ValueKind
    place: int


Node: TypeAlias = ColumnReference | Constant | Computation


@dataclass(frozen=True, slots=True)
class Expression:
    """Parsed expression.

    Attributes
    ----------
    text : str
        As in the request.
    path : str
        Request field that holds it.
    root : Node
    """

    text: str
    path: str
    root: Node

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns it uses, in order of first appearance."""
        columns = (node for node in walk(self.root) if isinstance(node, ColumnReference))
        return tuple(dict.fromkeys(column.name for column in columns))


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and its descendants, from left to right."""
    yield node
    if isinstance(node, Computation):
        for operand in node.operands:
            yield from walk(operand)
