"""Filter of lists of operations: a subset of the filter language of AIP-160.

    state = RUNNING AND labels.team = "risk" AND done = false

Conditions joined by AND; each is a field, = or !=, and a value. A value is a word, or a text in
double quotes in which a backslash escapes quotes and backslashes. No package of PyPI is named after
that language.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.operations import Operation, OperationState

_Value = TypeVar("_Value")

Predicate: TypeAlias = Callable[[Operation], bool]

_LENGTH_LIMIT = 2_000
_CONDITION_LIMIT = 20

_CONDITION = re.compile(
    r"""\s*(?P<field>[A-Za-z0-9_./-]+)\s*(?P<operator>!?=)\s*"""
    r"""(?:"(?P<text>(?:[^"\\]|\\["\\])*)"|(?P<word>[A-Za-z0-9_:+/.-]+))"""
)
_AND = re.compile(r"\s+AND(?=\s)")
_LABEL = "labels."
_BOOLEANS = {"true": True, "false": False}
_STATES = {state.name: state for state in OperationState}
_GRAMMAR = (
    'a filter is conditions joined by AND, like: state = RUNNING AND labels.team = "risk"; '
    "fields are state, done, method, request_id and labels.KEY, operators = and !="
)


@dataclass(frozen=True, slots=True)
class _Condition:
    """Condition of a filter."""

    field: str
    is_negated: bool
    value: str


def parse_filter(text: str) -> Predicate:
    """Return the predicate of a filter; an empty one matches all operations.

    Raises
    ------
    ExplainError
        INVALID_REQUEST, with the place of the fault.
    """
    if len(text) > _LENGTH_LIMIT:
        raise _invalid(f"the filter has more than {_LENGTH_LIMIT:,} letters")
    predicates = [_predicate(condition) for condition in _conditions(text)]
    return lambda operation: all(predicate(operation) for predicate in predicates)


def _conditions(text: str) -> list[_Condition]:
    conditions: list[_Condition] = []
    at = 0
    while text[at:].strip():
        if conditions:
            joint = _AND.match(text, at)
            if joint is None:
                raise _unreadable(text, at)
            at = joint.end()
        match = _CONDITION.match(text, at)
        if match is None:
            raise _unreadable(text, at)
        value = match["word"] if match["text"] is None else re.sub(r"\\(.)", r"\1", match["text"])
        conditions.append(_Condition(match["field"], match["operator"] == "!=", value))
        at = match.end()
    if len(conditions) > _CONDITION_LIMIT:
        raise _invalid(f"the filter has more than {_CONDITION_LIMIT} conditions")
    return conditions


def _predicate(condition: _Condition) -> Predicate:
    test = _test(condition.field, condition.value)
    return (lambda operation: not test(operation)) if condition.is_negated else test


def _test(field: str, value: str) -> Predicate:
    if field.startswith(_LABEL) and field != _LABEL:
        key = field.removeprefix(_LABEL)
        return lambda operation: operation.labels.get(key) == value
    match field:
        case "state":
            state = _one_of(field, value, _STATES)
            return lambda operation: operation.state is state
        case "done":
            is_done = _one_of(field, value, _BOOLEANS)
            return lambda operation: operation.state.is_terminal is is_done
        case "method":
            return lambda operation: value in operation.method_names
        case "request_id":
            return lambda operation: operation.request_id == value
    raise _invalid(f'unknown field "{field[:100]}"; {_GRAMMAR}')


def _one_of(field: str, value: str, values: dict[str, _Value]) -> _Value:
    if value not in values:
        raise _invalid(f'{field} is one of {", ".join(values)}, not "{value[:100]}"')
    return values[value]


def _unreadable(text: str, at: int) -> ExplainError:
    rest = text[at : at + 40].strip()
    return _invalid(f'the filter cannot be read at letter {at + 1}, "{rest}"; {_GRAMMAR}')


def _invalid(message: str) -> ExplainError:
    return ExplainError(Reason.INVALID_REQUEST, message, "filter")
