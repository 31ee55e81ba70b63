"""Encoder and decoder of canonical JSON, protobuf's JSON mapping.

Stricter than protobuf's own: NaN and infinity only as strings, no duplicate names, no unknown
fields, no malformed base64. Names of enum values may be in any case, or those of others.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

import orjson
from google.protobuf import json_format
from google.protobuf.message import Message

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire.scanning.json_reader import ANY, JsonReader, MessageShape, Shape
from onnxplain_server.wire.scanning.json_shape import find_fault, with_enum_names

AnyMessage = TypeVar("AnyMessage", bound=Message)

# Python objects take about ten times the memory of the JSON they are parsed from.
MAX_VALUE_COUNT = 5_000_000

# More digits than the largest double has; Python's time to parse them grows with their square.
_MAX_DIGITS = 1_000

_LARGE_NUMBER = re.compile(rb"[eE]\+?[0-9]{2}|[0-9]{200}")
"""Found in every number that may be beyond a double, or have too many digits; rarely in others."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ERROR_PREFIX = re.compile(r"Failed to parse \w+ field: ")
_ERROR_PATH = re.compile(r' at "?\w+\.([\w.\[\]]+)"?$')


def encode(message: Message, *, is_indented: bool = False) -> str:
    """Write a message; fields without presence are written even if empty or 0."""
    document = json_format.MessageToDict(message, always_print_fields_with_no_presence=True)
    if is_indented:  # which the standard library writes in Python, at a tenth of the pace
        return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def decode(text: bytes, kind: type[AnyMessage]) -> AnyMessage:
    """Read a message of type `kind`.

    Raises
    ------
    ExplainError
        INVALID_REQUEST, with the path of the field if it is known.
    """
    return parse(read_object(text, MessageShape(kind.DESCRIPTOR)), kind)


def read_object(text: bytes, shape: Shape = ANY) -> dict[str, Any]:
    """Read a JSON object; the first of the two steps of `decode`.

    Parameters
    ----------
    text : bytes
    shape : Shape
        What the object may have: reading ends at the first fault.
    """
    if sum(text.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUE_COUNT:
        raise _invalid(
            f"the JSON has more than {MAX_VALUE_COUNT:,} values; send large tables as files"
        )
    # Python's own parsers of numbers are several times as fast.
    checks = (_parse_float, _parse_int) if _LARGE_NUMBER.search(text) else (None, None)
    try:
        decoder = json.JSONDecoder(
            parse_constant=_refuse_constant,
            parse_float=checks[0],
            parse_int=checks[1],
            object_pairs_hook=_parse_object,
        )
        document = JsonReader(text.decode(), decoder).read(shape)
    except RecursionError:
        raise _invalid("the JSON is nested too deeply") from None
    except ValueError as error:
        raise _invalid(f"the JSON cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise _invalid("the JSON must be an object")
    if _SURROGATE.search(text) and not _is_text(document):
        raise _invalid("the JSON has an escape that is half a character (unpaired surrogate)")
    return document


def to_message(document: dict[str, Any], kind: type[AnyMessage]) -> AnyMessage:
    """Make a message from an object that was not read by its shape."""
    if fault := find_fault(document, kind.DESCRIPTOR):
        raise _invalid(f"{fault.path} {fault.rule}", fault.path)
    return parse(document, kind)


def parse(document: dict[str, Any], kind: type[AnyMessage]) -> AnyMessage:
    """Make a message from an object of its shape; the second of the two steps of `decode`."""
    try:
        return json_format.ParseDict(with_enum_names(document, kind.DESCRIPTOR), kind())
    except json_format.ParseError as error:
        raise _translate(str(error)) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f'{name} is no JSON; write "{name}" as a string, or null for a missing cell')


def _parse_float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits[:40]} is beyond the range of a double")
    return value


def _parse_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a whole number has {len(digits):,} digits, at most {_MAX_DIGITS}")
    return int(digits)


def _parse_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        duplicate = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f'the name "{duplicate[:100]}" stands twice in one object')
    return document


def _is_text(document: object) -> bool:
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _translate(message: str) -> ExplainError:
    """Split an error text of json_format, '... at "ExplainRequest.methods[0]".', into its parts."""
    while match := _ERROR_PREFIX.match(message):
        message = message[match.end() :]
    message = message.rstrip(".")
    if not (match := _ERROR_PATH.search(message)):
        return _invalid(message)
    path = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda capital: "_" + capital[1].lower(), match[1])
    return _invalid(f"{path}: {message[: match.start()]}", path)


def _invalid(message: str, field: str = "") -> ExplainError:
    return ExplainError(Reason.INVALID_REQUEST, message, field)
