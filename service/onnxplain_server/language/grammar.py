"""Grammar of the expression language: supported Python operators, and errors for the others."""

from __future__ import annotations

import ast

ARITHMETIC = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
COMPARISONS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
ALTERNATIVES = {
    ast.BitAnd: "write 'and' instead of '&'",
    ast.BitOr: "write 'or' instead of '|'",
    ast.Invert: "write 'not' instead of '~'",
}
UNSUPPORTED = {
    ast.Attribute: "attributes are not supported",
    ast.Subscript: "subscripts are not supported",
    ast.Lambda: "lambda is not supported",
    ast.IfExp: "'if' is not supported; multiply by a condition",
    ast.NamedExpr: "assignment is not supported",
    ast.JoinedStr: "f-strings are not supported",
    ast.Await: "await is not supported",
    ast.Yield: "yield is not supported",
    ast.YieldFrom: "yield is not supported",
    ast.Starred: "unpacking is not supported",
    ast.Tuple: "a list is allowed only after 'in'",
    ast.List: "a list is allowed only after 'in'",
    ast.Set: "a list is allowed only after 'in'",
    ast.Dict: "dictionaries are not supported",
    ast.ListComp: "loops are not supported",
    ast.SetComp: "loops are not supported",
    ast.DictComp: "loops are not supported",
    ast.GeneratorExp: "loops are not supported",
}
