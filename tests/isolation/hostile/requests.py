"""Random valid requests, generated from the contract's descriptors, new fields included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions

METHODS = tuple(field.name for field in MethodOptions.DESCRIPTOR.fields)

FEATURES = ("x0", "x1", "x2", "x3")
COLUMNS = (*FEATURES, "city", "y")
"""Four that models take, one of text, one of targets and weights."""

_TEXTS = (
    *4 * FEATURES,
    *COLUMNS,
    *("", "q", "Bern", "x0 > 1", "x0 * x1", "not (city == 'Bern')", "ACGT", "AC", "a" * 300),
    *("\x00\x1b[31m\n", "\u202e", "../../etc/passwd", "'", '"', "(", "x0 >", "漢"),
)
_WHOLE = (*3 * (0, 1, 2, 3, 5), -1, 40, 2**31 - 1, -(2**31))
_REAL = (*3 * (0.1, 0.5, 0.9, 1.0), 0.0, 2.0, -1.0, 1e-300, 1e300, float("nan"), float("inf"), -0.0)
_PLAIN: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.TYPE_STRING: st.sampled_from(_TEXTS),
    FieldDescriptor.TYPE_INT32: st.sampled_from(_WHOLE),
    FieldDescriptor.TYPE_DOUBLE: st.sampled_from(_REAL),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
}
_mostly = st.sampled_from([True] * 9 + [False])
_UNKNOWN_ENUM = 77
_MOST_ITEMS = 3
_MOST_FIELDS = 4


def methods(name: str) -> st.SearchStrategy[MethodOptions]:
    """Options of one method of the contract."""
    field = MethodOptions.DESCRIPTOR.fields_by_name[name]
    assert field.message_type is not None
    return _messages(field.message_type).map(lambda options: _of(name, options))


def _of(name: str, options: Message) -> MethodOptions:
    method = MethodOptions()
    getattr(method, name).CopyFrom(options)
    getattr(method, name).SetInParent()
    return method


@st.composite
def requests(draw: st.DrawFn, name: str) -> ExplainRequest:
    """A request for one method, or two, with what is common to all; without model."""
    request = ExplainRequest(methods=[draw(methods(name))])
    if draw(st.booleans()):
        request.methods.append(draw(methods(name)))
    request.table.csv = draw(tables())
    if draw(_mostly):
        request.feature_columns.extend(FEATURES)
    if draw(_mostly):
        request.target_column = "y"
    for field in ExplainRequest.DESCRIPTOR.fields:
        if field.name not in {"model", "table", "methods"} and not draw(_mostly):
            _fill(draw, request, field)
    return request


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """A few rows of small and of awkward cells; CSV."""
    cells = st.sampled_from(["0", "1", "2.5", "-1", "3", "3", "1e300", "", "nan"])
    usual = st.sampled_from(["0", "1", "2", "3.5"])
    cities = st.sampled_from(["Bern", "Oslo", ""])
    numbers = draw(st.sampled_from([usual, usual, cells]))
    rows = [
        [*(draw(numbers) for _ in range(4)), draw(cities), draw(usual)]
        for _ in range(draw(st.sampled_from([5, 8, 6, 3, 9, 2, 1, 0])))
    ]
    return "\n".join(map(",".join, [COLUMNS, *rows, [""]])).encode()


@st.composite
def _messages(draw: st.DrawFn, kind) -> Message:
    message: Message = GetMessageClass(kind)()
    for field in _chosen(draw, kind):
        _fill(draw, message, field)
    return message


def _chosen(draw: st.DrawFn, kind) -> Iterator[Any]:
    """A few fields; of a oneof, one at most."""
    taken: set[str] = set()
    wanted = st.lists(st.sampled_from(list(kind.fields)), max_size=_MOST_FIELDS)
    for field in draw(wanted) if kind.fields else ():
        choice = field.containing_oneof.name if field.containing_oneof else field.name
        if choice not in taken:
            taken.add(choice)
            yield field


def _fill(draw: st.DrawFn, message: Message, field) -> None:
    count = draw(st.integers(1, _MOST_ITEMS)) if field.is_repeated else 1
    values = [draw(_values(field)) for _ in range(count)]
    if field.is_repeated:
        getattr(message, field.name).extend(values)
    elif field.message_type is not None:
        getattr(message, field.name).CopyFrom(values[0])
        getattr(message, field.name).SetInParent()
    else:
        setattr(message, field.name, values[0])


def _values(field) -> st.SearchStrategy[Any]:
    if field.message_type is not None:
        return _messages(field.message_type)
    if field.enum_type is not None:
        return st.sampled_from([*field.enum_type.values_by_number, _UNKNOWN_ENUM])
    return _PLAIN[field.type]
