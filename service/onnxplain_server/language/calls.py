"""Built-in functions of the expression language, with arity and argument types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from onnxplain_server.language.tree import ColumnReference, Constant, Node, ValueKind
from onnxplain_server.language.words import words_of

_MAX_START = 1_000_000
_MAX_VALUES = 100
"""Most values of which one is the largest or the least."""


@dataclass(frozen=True, slots=True)
class Function:
    """Signature of a built-in function.

    Attributes
    ----------
    usage : str
        Example call, for error messages.
    min_count, max_count : int
        Bounds of the number of arguments.
    operands : ValueKind or None
        Kind of all arguments; None: see `check`.
    kind : ValueKind
        Kind of the result.
    check : callable
        Returns the error in the arguments, or "".
    """

    usage: str
    min_count: int
    max_count: int
    operands: ValueKind | None
    kind: ValueKind
    check: Callable[[Sequence[Node]], str] = lambda _operands: ""


def _check_kmer(operands: Sequence[Node]) -> str:
    column, motif = operands[:2]
    if not (isinstance(column, ColumnReference) and column.kind is ValueKind.TEXT):
        return "the first argument of kmer must be a column of text"
    if not (isinstance(motif, Constant) and isinstance(motif.value, str) and motif.value):
        return "the second argument of kmer must be a string, like 'GATTACA'"
    if len(operands) == 3:
        start = operands[2].value if isinstance(operands[2], Constant) else ""
        if not isinstance(start, float) or start != int(start):
            return "the third argument of kmer must be a whole number: the start, from 0"
        if not 0 <= start <= _MAX_START:
            return f"the third argument of kmer must be in [0, {_MAX_START:,}]"
    return ""


def _check_contains(operands: Sequence[Node]) -> str:
    column, words = operands
    if not (isinstance(column, ColumnReference) and column.kind is ValueKind.TEXT):
        return "the first argument of contains must be a column of text"
    if not (isinstance(words, Constant) and isinstance(words.value, str)):
        return "the second argument of contains must be a word, like 'great'"
    if not words_of(words.value):
        return "the second argument of contains has neither a letter nor a digit"
    return ""


def _check_missing(operands: Sequence[Node]) -> str:
    return "" if isinstance(operands[0], ColumnReference) else "missing takes a column"


def _check_clip(operands: Sequence[Node]) -> str:
    low, high = (node.value if isinstance(node, Constant) else None for node in operands[1:])
    if isinstance(low, float) and isinstance(high, float) and low > high:
        return f"clip has the lower limit {low:g} above the upper limit {high:g}"
    return ""


_NUMBER, _CONDITION = ValueKind.NUMBER, ValueKind.CONDITION

CALLS = {
    "abs": Function("abs(x)", 1, 1, _NUMBER, _NUMBER),
    "clip": Function("clip(x, low, high)", 3, 3, _NUMBER, _NUMBER, _check_clip),
    "contains": Function("contains(column, 'great')", 2, 2, None, _CONDITION, _check_contains),
    "exp": Function("exp(x)", 1, 1, _NUMBER, _NUMBER),
    "expm1": Function("expm1(x)", 1, 1, _NUMBER, _NUMBER),
    "kmer": Function("kmer(column, 'GATTACA', 35)", 2, 3, None, _CONDITION, _check_kmer),
    "log": Function("log(x)", 1, 1, _NUMBER, _NUMBER),
    "log1p": Function("log1p(x)", 1, 1, _NUMBER, _NUMBER),
    "max": Function("max(x, y)", 2, _MAX_VALUES, _NUMBER, _NUMBER),
    "min": Function("min(x, y)", 2, _MAX_VALUES, _NUMBER, _NUMBER),
    "missing": Function("missing(x)", 1, 1, None, _CONDITION, _check_missing),
    "sqrt": Function("sqrt(x)", 1, 1, _NUMBER, _NUMBER),
    "xor": Function("xor(a, b)", 2, 2, _CONDITION, _CONDITION),
}
"""Functions by name, in alphabetical order for error messages."""
