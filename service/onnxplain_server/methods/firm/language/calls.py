"""The functions of the language: what each takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from onnxplain_server.methods.firm.language.tree import Column, Constant, Kind, Node

_MOST_POSITION = 1_000_000


@dataclass(frozen=True, slots=True)
class Call:
    """A function.

    Attributes
    ----------
    usage : str
        How it is written.
    fewest, most : int
        Number of arguments.
    operands : Kind or None
        What all of them are; None: `check` tells.
    kind : Kind
        What it gives.
    check : callable
        Says what is wrong with the arguments, or nothing.
    """

    usage: str
    fewest: int
    most: int
    operands: Kind | None
    kind: Kind
    check: Callable[[Sequence[Node]], str] = lambda _operands: ""


def _check_kmer(operands: Sequence[Node]) -> str:
    column, motif = operands[:2]
    if not (isinstance(column, Column) and column.kind is Kind.TEXT):
        return "the first argument of kmer must be a column of text"
    if not (isinstance(motif, Constant) and isinstance(motif.value, str) and motif.value):
        return "the second argument of kmer must be a text, like 'GATTACA'"
    if len(operands) == 3:
        start = operands[2].value if isinstance(operands[2], Constant) else ""
        if not isinstance(start, float) or start != int(start):
            return "the third argument of kmer must be a whole number: the start, from 0"
        if not 0 <= start <= _MOST_POSITION:
            return f"the third argument of kmer must be in [0, {_MOST_POSITION:,}]"
    return ""


def _check_missing(operands: Sequence[Node]) -> str:
    return "" if isinstance(operands[0], Column) else "missing takes a column"


_NUMBER, _CONDITION = Kind.NUMBER, Kind.CONDITION

CALLS = {
    "abs": Call("abs(x)", 1, 1, _NUMBER, _NUMBER),
    "exp": Call("exp(x)", 1, 1, _NUMBER, _NUMBER),
    "kmer": Call("kmer(column, 'GATTACA', 35)", 2, 3, None, _CONDITION, _check_kmer),
    "log": Call("log(x)", 1, 1, _NUMBER, _NUMBER),
    "max": Call("max(x, y)", 2, 2, _NUMBER, _NUMBER),
    "min": Call("min(x, y)", 2, 2, _NUMBER, _NUMBER),
    "missing": Call("missing(x)", 1, 1, None, _CONDITION, _check_missing),
    "sqrt": Call("sqrt(x)", 1, 1, _NUMBER, _NUMBER),
    "xor": Call("xor(a, b)", 2, 2, _CONDITION, _CONDITION),
}
"""In alphabetical order, as messages list them."""
