"""Texts to trees: what is on the lists is taken, everything else is refused with its place."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import listed
from onnxplain_server.methods.firm.language import calls
from onnxplain_server.methods.firm.language.source import SourceText, read
from onnxplain_server.methods.firm.language.tree import (
    ColumnReference,
    Constant,
    Expression,
    Node,
    Operation,
    ValueKind,
    walk,
)

_MOST_DEPTH = 40
_MOST_NODES = 250
_LARGEST_POWER = 10

_ARITHMETIC = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_COMPARISONS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_INSTEAD = {
    ast.BitAnd: "write 'and' instead of '&'",
    ast.BitOr: "write 'or' instead of '|'",
    ast.Invert: "write 'not' instead of '~'",
}
_REFUSED = {
    ast.Attribute: "attributes cannot be used",
    ast.Subscript: "nothing can be picked by brackets",
    ast.Lambda: "functions cannot be made",
    ast.IfExp: "there is no 'if'; multiply by a condition",
    ast.NamedExpr: "names cannot be given",
    ast.JoinedStr: "texts are taken as they are, without an f before them",
    ast.Await: "nothing can be awaited",
    ast.Yield: "nothing can be yielded",
    ast.YieldFrom: "nothing can be yielded",
    ast.Starred: "nothing can be unpacked",
    ast.Tuple: "a list stands only after 'in'",
    ast.List: "a list stands only after 'in'",
    ast.Set: "a list stands only after 'in'",
    ast.Dict: "dictionaries cannot be used",
    ast.ListComp: "there are no loops",
    ast.SetComp: "there are no loops",
    ast.DictComp: "there are no loops",
    ast.GeneratorExp: "there are no loops",
}


def parse(text: str, kinds: Mapping[str, ValueKind], path: str) -> Expression:
    """Read a feature function.

    Parameters
    ----------
    text : str
        The name of a column, or an expression over columns.
    kinds : mapping of column to ValueKind
    path : str
        Field of the request that holds the text.

    Raises
    ------
    ExplainError
        INVALID_OPTION, or MISSING_COLUMN, with the place.
    """
    if text in kinds:
        return Expression(text, path, ColumnReference(text, kinds[text], 0))
    source = read(text, path)
    root = _Reader(source, kinds).read(_syntax(source), 0)
    if root.kind is ValueKind.TEXT and not isinstance(root, ColumnReference):
        raise source.fault("a feature is a number, a condition or a column", root.place)
    expression = Expression(text, path, root)
    if not expression.columns:
        raise source.fault("the expression names no column", 0)
    if sum(1 for _ in walk(root)) > _MOST_NODES:
        raise source.fault(f"an expression has at most {_MOST_NODES} parts", 0)
    return expression


def _syntax(source: SourceText) -> ast.expr:
    """Have Python tell what is what in a text, without running it."""
    try:
        return ast.parse(source.masked[source.blank :], mode="eval").body
    except SyntaxError as error:
        # At its end, Python names no place.
        place = source.blank + error.offset - 1 if error.offset else len(source.text)
        told = error.msg.partition(". Perhaps")[0]
        raise source.fault(
            f"the expression cannot be read ({told})", min(place, len(source.text) - 1)
        ) from None
    except (RecursionError, MemoryError, ValueError):
        raise source.fault("the expression is nested too deeply", source.blank) from None


class _Reader:
    """Turns Python's syntax into ours."""

    def __init__(self, source: SourceText, kinds: Mapping[str, ValueKind]) -> None:
        self._source = source
        self._kinds = kinds

    def read(self, node: ast.expr, depth: int) -> Node:  # noqa: PLR0911 - one per kind of node
        """Read a node and all below it."""
        if depth > _MOST_DEPTH:
            raise self._fault(f"more than {_MOST_DEPTH} parts within each other", node)
        match node:
            case ast.Name():
                return self._column(node)
            case ast.Constant():
                return self._constant(node)
            case ast.UnaryOp():
                return self._unary(node, depth)
            case ast.BinOp():
                return self._binary(node, depth)
            case ast.BoolOp():
                name = "and" if isinstance(node.op, ast.And) else "or"
                parts = [self._condition(part, depth) for part in node.values]
                return self._fold(name, parts, node)
            case ast.Compare():
                return self._comparison(node, depth)
            case ast.Call():
                return self._call(node, depth)
            case _:
                raise self._fault(_REFUSED.get(type(node), "this is not understood"), node)

    def _column(self, node: ast.Name) -> ColumnReference:
        place = self._source.place(node)
        name = self._source.names.get(place, node.id)
        if name not in self._kinds:
            known = listed(tuple(self._kinds))
            raise self._source.fault(
                f"the table has no column {name!r}; it has {known}", place, Reason.MISSING_COLUMN
            )
        return ColumnReference(name, self._kinds[name], place)

    def _constant(self, node: ast.Constant) -> Constant:
        value, place = node.value, self._source.place(node)
        if isinstance(value, bool):
            return Constant(float(value), ValueKind.CONDITION, place)
        if isinstance(value, str):
            return Constant(value, ValueKind.TEXT, place)
        if not isinstance(value, int | float):
            raise self._fault("only numbers, texts, True and False can stand here", node)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self._fault("the number is too large", node)
        return Constant(number, ValueKind.NUMBER, place)

    def _unary(self, node: ast.UnaryOp, depth: int) -> Node:
        if isinstance(node.op, ast.Not):
            return self._make(
                "not", [self._condition(node.operand, depth)], ValueKind.CONDITION, node
            )
        if isinstance(node.op, ast.Invert):
            raise self._fault(_INSTEAD[ast.Invert], node)
        number = self._number(node.operand, depth)
        if isinstance(node.op, ast.UAdd):
            return number
        if isinstance(number, Constant):
            return Constant(-float(number.value), ValueKind.NUMBER, self._source.place(node))
        return self._make("negative", [number], ValueKind.NUMBER, node)

    def _binary(self, node: ast.BinOp, depth: int) -> Node:
        if isinstance(node.op, ast.BitXor):
            both = [self._condition(node.left, depth), self._condition(node.right, depth)]
            return self._make("xor", both, ValueKind.CONDITION, node)
        if type(node.op) not in _ARITHMETIC:
            told = _INSTEAD.get(type(node.op), "this operator cannot be used")
            raise self._fault(told, node.right)
        operands = [self._number(node.left, depth), self._number(node.right, depth)]
        if isinstance(node.op, ast.Pow):
            self._check_power(operands[1], node.right)
        return self._make(_ARITHMETIC[type(node.op)], operands, ValueKind.NUMBER, node)

    def _check_power(self, exponent: Node, node: ast.expr) -> None:
        is_small = isinstance(exponent, Constant) and abs(float(exponent.value)) <= _LARGEST_POWER
        if not is_small:
            raise self._fault(
                f"a power needs a number from -{_LARGEST_POWER} to {_LARGEST_POWER}", node
            )

    def _comparison(self, node: ast.Compare, depth: int) -> Node:
        """Read a chain: a < b < c holds where both comparisons do."""
        left = node.left
        parts = []
        for operator, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, ast.In | ast.NotIn):
                parts.append(self._membership(node, operator, left, right, depth))
            else:
                parts.append(self._compared(node, operator, left, right, depth))
            left = right
        return self._fold("and", parts, node)

    def _compared(
        self, node: ast.Compare, operator: ast.cmpop, left: ast.expr, right: ast.expr, depth: int
    ) -> Node:
        name = _COMPARISONS.get(type(operator))
        if name is None:
            raise self._fault("'is' cannot be used; write '=='", right)
        operands = [self.read(side, depth + 1) for side in (left, right)]
        are_text = [operand.kind is ValueKind.TEXT for operand in operands]
        if any(are_text) and not all(are_text):
            raise self._fault("a number and a text cannot be compared", right)
        if all(are_text) and name not in {"==", "!="}:
            raise self._fault("texts have no order; compare them by '==' or '!='", right)
        return self._make(name, operands, ValueKind.CONDITION, node)

    def _membership(
        self, node: ast.Compare, operator: ast.cmpop, left: ast.expr, right: ast.expr, depth: int
    ) -> Node:
        if not isinstance(right, ast.Tuple | ast.List | ast.Set) or not right.elts:
            raise self._fault("'in' needs a list of values, like ('a', 'b')", right)
        value = self.read(left, depth + 1)
        parts = []
        for element in right.elts:
            constant = self.read(element, depth + 1)
            if not isinstance(constant, Constant):
                raise self._fault("a list holds numbers or texts only", element)
            if (constant.kind is ValueKind.TEXT) is not (value.kind is ValueKind.TEXT):
                raise self._fault("a number and a text cannot be compared", element)
            parts.append(self._make("==", [value, constant], ValueKind.CONDITION, node))
        found = self._fold("or", parts, node)
        if isinstance(operator, ast.In):
            return found
        return self._make("not", [found], ValueKind.CONDITION, node)

    def _call(self, node: ast.Call, depth: int) -> Node:
        if isinstance(node.func, ast.Attribute):
            raise self._fault(_REFUSED[ast.Attribute], node.func)
        if not isinstance(node.func, ast.Name) or node.func.id not in calls.CALLS:
            raise self._fault(f"the functions are {', '.join(calls.CALLS)}", node.func)
        if node.keywords:
            raise self._fault("arguments have no names", node.keywords[0].value)
        call = calls.CALLS[node.func.id]
        if not call.fewest <= len(node.args) <= call.most:
            raise self._fault(f"{node.func.id} is written {call.usage}", node)
        match call.operands:
            case ValueKind.NUMBER:
                operands = [self._number(argument, depth) for argument in node.args]
            case ValueKind.CONDITION:
                operands = [self._condition(argument, depth) for argument in node.args]
            case _:
                operands = [self.read(argument, depth + 1) for argument in node.args]
        told = call.check(operands)
        if told:
            raise self._fault(told, node)
        return self._make(node.func.id, operands, call.kind, node)

    def _number(self, node: ast.expr, depth: int) -> Node:
        """Read what must be a number; a condition counts as 1 where it holds, and 0 elsewhere."""
        found = self.read(node, depth + 1)
        if found.kind is ValueKind.TEXT:
            raise self._fault("a text is no number; compare it, as in x == 'a'", node)
        return found

    def _condition(self, node: ast.expr, depth: int) -> Node:
        """Read what must be a condition; a column of 0 and 1 is one, which its values tell."""
        found = self.read(node, depth + 1)
        if found.kind is ValueKind.TEXT:
            raise self._fault("a text is no condition; compare it, as in x == 'a'", node)
        if found.kind is ValueKind.NUMBER:
            if not isinstance(found, ColumnReference):
                raise self._fault("a number is no condition; compare it, as in x > 1", node)
            return self._make("holds", [found], ValueKind.CONDITION, node)
        return found

    def _fold(self, name: str, parts: Sequence[Node], node: ast.expr) -> Node:
        whole = parts[0]
        for part in parts[1:]:
            whole = self._make(name, [whole, part], ValueKind.CONDITION, node)
        return whole

    def _make(
        self, name: str, operands: Sequence[Node], kind: ValueKind, node: ast.expr
    ) -> Operation:
        return Operation(name, tuple(operands), kind, self._source.place(node))

    def _fault(self, reason: str, node: ast.expr) -> ExplainError:
        return self._source.fault(reason, self._source.place(node))
