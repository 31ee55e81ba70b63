"""What a text becomes: columns, constants and operations, each with its place in the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class ValueKind(Enum):
    """What the values of a column, or of a part of an expression, are."""

    NUMBER = "a number"
    CONDITION = "a condition"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class ColumnReference:
    """The values of a column. `place` is that of its first character in the text, from 0."""

    name: str
    kind: ValueKind
    place: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A number or a text that stands in the expression."""

    value: float | str
    kind: ValueKind
    place: int


@dataclass(frozen=True, slots=True)
class Operation:
    """What is done with some operands; `name` is a key of `evaluate.OPERATIONS`."""

    name: str
    operands: tuple[Node, ...]
    kind: ValueKind
    place: int


Node: TypeAlias = ColumnReference | Constant | Operation


@dataclass(frozen=True, slots=True)
class Expression:
    """A feature function.

    Attributes
    ----------
    text : str
        As it was given.
    path : str
        Field of the request that holds it.
    root : Node
    """

    text: str
    path: str
    root: Node

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that it is computed from, in order of first appearance."""
        columns = (node for node in walk(self.root) if isinstance(node, ColumnReference))
        return tuple(dict.fromkeys(column.name for column in columns))


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, from left to right."""
    yield node
    if isinstance(node, Operation):
        for operand in node.operands:
            yield from walk(operand)
