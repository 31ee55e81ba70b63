"""Parser of expressions: an allow-list of Python's syntax; all else is rejected."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence

from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.table import listed
from onnxplain_server.language import calls
from onnxplain_server.language.grammar import (
    ALTERNATIVES,
    ARITHMETIC,
    COMPARISONS,
    UNSUPPORTED,
)
from onnxplain_server.language.scope import COLUMNS_OF_TABLE, Scope
from onnxplain_server.language.source import SourceText, read
from onnxplain_server.language.tree import (
    ColumnReference,
    Computation,
    Constant,
    Expression,
    Node,
    ValueKind,
    walk,
)

_MAX_DEPTH = 40
_MAX_NODES = 250
_MAX_POWER = 10


def parse(
    text: str, kinds: Mapping[str, ValueKind], path: str, scope: Scope = COLUMNS_OF_TABLE
) -> Expression:
    """Parse an expression.

    Parameters
    ----------
    text : str
        A name, or an expression over names.
    kinds : mapping of name to ValueKind
    path : str
        Request field that holds the text.
    scope : Scope

    Raises
    ------
    ExplainError
        INVALID_OPTION or MISSING_COLUMN, with the position.
    """
    if text in kinds:
        return Expression(text, path, ColumnReference(text, kinds[text], 0))
    source = read(text, path)
    root = _Parser(source, kinds, scope).read(_syntax(source), 0)
    if root.kind is ValueKind.TEXT and not isinstance(root, ColumnReference):
        raise source.fault("a feature must be a number, a condition or a column", root.place)
    expression = Expression(text, path, root)
    if not expression.columns:
        raise source.fault(scope.unused, 0)
    if sum(1 for _ in walk(root)) > _MAX_NODES:
        raise source.fault(f"an expression has at most {_MAX_NODES} parts", 0)
    return expression


def names_in(text: str, path: str) -> frozenset[str]:
    """Return the names that an expression uses, known or not; `path` is the field that holds it.

    Raises
    ------
    ExplainError
        INVALID_OPTION for what Python's parser does not understand.
    """
    source = read(text, path)
    nodes = list(ast.walk(_syntax(source)))
    functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    names = (node for node in nodes if isinstance(node, ast.Name) and id(node) not in functions)
    return frozenset(source.names.get(source.place(node), node.id) for node in names)


def _syntax(source: SourceText) -> ast.expr:
    """Parse a text by Python's own parser, without running it."""
    try:
        return ast.parse(source.masked[source.blank :], mode="eval").body
    except SyntaxError as error:
        # Python gives no offset for an error at the end.
        place = source.blank + error.offset - 1 if error.offset else len(source.text)
        reason = error.msg.partition(". Perhaps")[0]
        raise source.fault(
            f"the expression cannot be parsed ({reason})", min(place, len(source.text) - 1)
        ) from None
    except (RecursionError, MemoryError, ValueError):
        raise source.fault("the expression is nested too deeply", source.blank) from None


class _Parser:
    """Converter of Python's syntax tree into an expression tree."""

    def __init__(self, source: SourceText, kinds: Mapping[str, ValueKind], scope: Scope) -> None:
        self._source = source
        self._kinds = kinds
        self._scope = scope

    def read(self, node: ast.expr, depth: int) -> Node:  # noqa: PLR0911 - one per kind of node
        """Convert a node and its descendants."""
        if depth > _MAX_DEPTH:
            raise self._fault(f"more than {_MAX_DEPTH} nested parts", node)
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
                raise self._fault(UNSUPPORTED.get(type(node), "this syntax is not supported"), node)

    def _column(self, node: ast.Name) -> ColumnReference:
        place = self._source.place(node)
        name = self._source.names.get(place, node.id)
        if name not in self._kinds:
            known = listed(tuple(self._kinds))
            reason = self._scope.unknown.format(name=repr(name), known=known)
            raise self._source.fault(reason, place, self._scope.cause)
        return ColumnReference(name, self._kinds[name], place)

    def _constant(self, node: ast.Constant) -> Constant:
        value, place = node.value, self._source.place(node)
        if isinstance(value, bool):
            return Constant(float(value), ValueKind.CONDITION, place)
        if isinstance(value, str):
            return Constant(value, ValueKind.TEXT, place)
        if not isinstance(value, int | float):
            raise self._fault("only numbers, strings, True and False are allowed here", node)
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
            raise self._fault(ALTERNATIVES[ast.Invert], node)
        number = self._number(node.operand, depth)
        if isinstance(node.op, ast.UAdd):
            return number
        if isinstance(number, Constant):
            return Constant(-float(number.value), ValueKind.NUMBER, self._source.place(node))
        return self._make("negative", [number], ValueKind.NUMBER, node)

    def _binary(self, node: ast.BinOp, depth: int) -> Node:
        if isinstance(node.op, ast.BitXor):
            sides = [self._condition(node.left, depth), self._condition(node.right, depth)]
            return self._make("xor", sides, ValueKind.CONDITION, node)
        if type(node.op) not in ARITHMETIC:
            reason = ALTERNATIVES.get(type(node.op), "this operator is not supported")
            raise self._fault(reason, node.right)
        operands = [self._number(node.left, depth), self._number(node.right, depth)]
        if isinstance(node.op, ast.Pow):
            self._check_power(operands[1], node.right)
        return self._make(ARITHMETIC[type(node.op)], operands, ValueKind.NUMBER, node)

    def _check_power(self, exponent: Node, node: ast.expr) -> None:
        is_small = isinstance(exponent, Constant) and abs(float(exponent.value)) <= _MAX_POWER
        if not is_small:
            raise self._fault(
                f"an exponent must be a number from -{_MAX_POWER} to {_MAX_POWER}", node
            )

    def _comparison(self, node: ast.Compare, depth: int) -> Node:
        """Convert a chain: a < b < c is a < b and b < c."""
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
        name = COMPARISONS.get(type(operator))
        if name is None:
            raise self._fault("'is' is not supported; write '=='", right)
        operands = [self.read(side, depth + 1) for side in (left, right)]
        are_text = [operand.kind is ValueKind.TEXT for operand in operands]
        if any(are_text) and not all(are_text):
            raise self._fault("a number and text cannot be compared", right)
        if all(are_text) and name not in {"==", "!="}:
            raise self._fault("text has no order; compare it by '==' or '!='", right)
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
                raise self._fault("a list may contain only numbers and strings", element)
            if (constant.kind is ValueKind.TEXT) is not (value.kind is ValueKind.TEXT):
                raise self._fault("a number and text cannot be compared", element)
            parts.append(self._make("==", [value, constant], ValueKind.CONDITION, node))
        member = self._fold("or", parts, node)
        if isinstance(operator, ast.In):
            return member
        return self._make("not", [member], ValueKind.CONDITION, node)

    def _call(self, node: ast.Call, depth: int) -> Node:
        if isinstance(node.func, ast.Attribute):
            raise self._fault(UNSUPPORTED[ast.Attribute], node.func)
        if not isinstance(node.func, ast.Name) or node.func.id not in calls.CALLS:
            raise self._fault(f"the functions are {', '.join(calls.CALLS)}", node.func)
        if node.keywords:
            raise self._fault("keyword arguments are not supported", node.keywords[0].value)
        call = calls.CALLS[node.func.id]
        if not call.min_count <= len(node.args) <= call.max_count:
            raise self._fault(f"the usage of {node.func.id} is {call.usage}", node)
        match call.operands:
            case ValueKind.NUMBER:
                operands = [self._number(argument, depth) for argument in node.args]
            case ValueKind.CONDITION:
                operands = [self._condition(argument, depth) for argument in node.args]
            case _:
                operands = [self.read(argument, depth + 1) for argument in node.args]
        reason = call.check(operands)
        if reason:
            raise self._fault(reason, node)
        return self._make(node.func.id, operands, call.kind, node)

    def _number(self, node: ast.expr, depth: int) -> Node:
        """Convert an operand that must be a number; conditions are 0 or 1."""
        operand = self.read(node, depth + 1)
        if operand.kind is ValueKind.TEXT:
            raise self._fault("text is not a number; compare it, as in x == 'a'", node)
        return operand

    def _condition(self, node: ast.expr, depth: int) -> Node:
        """Convert an operand that must be a condition; a column's values are checked later."""
        operand = self.read(node, depth + 1)
        if operand.kind is ValueKind.TEXT:
            raise self._fault("text is not a condition; compare it, as in x == 'a'", node)
        if operand.kind is ValueKind.NUMBER:
            if not isinstance(operand, ColumnReference):
                raise self._fault("a number is not a condition; compare it, as in x > 1", node)
            return self._make("holds", [operand], ValueKind.CONDITION, node)
        return operand

    def _fold(self, name: str, parts: Sequence[Node], node: ast.expr) -> Node:
        whole = parts[0]
        for part in parts[1:]:
            whole = self._make(name, [whole, part], ValueKind.CONDITION, node)
        return whole

    def _make(
        self, name: str, operands: Sequence[Node], kind: ValueKind, node: ast.expr
    ) -> Computation:
        return Computation(name, tuple(operands), kind, self._source.place(node))

    def _fault(self, reason: str, node: ast.expr) -> ExplainError:
        return self._source.fault(reason, self._source.place(node))
