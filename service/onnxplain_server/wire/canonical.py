"""Canonical JSON of messages: the one encoder and the one decoder.

As protobuf defines it, and stricter where JSON lets mistakes pass: no NaN or
infinity outside strings, no name twice, no unknown field, no broken base64.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message

from onnxplain_server.errors import ExplainError, Reason

AnyMessage = TypeVar("AnyMessage", bound=Message)

# Python objects take some ten times the bytes of the text they are read from.
MAX_VALUE_COUNT = 5_000_000

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_PREFIX = re.compile(r"^Failed to parse (\w+) field: ")
_PATH = re.compile(r'\.? at "?[A-Za-z]\w*((?:\.\w+|\[\d+\])*)"?(?=$|[."])')


def encode(message: Message, indent: int | None = None) -> str:
    """Write a message; lists and numbers are present when empty or 0, absent choices are not."""
    document = json_format.MessageToDict(message, always_print_fields_with_no_presence=True)
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent)


def decode(text: bytes, kind: type[AnyMessage]) -> AnyMessage:
    """Read a message of that kind.

    Raises
    ------
    ExplainError
        INVALID_REQUEST, with the field where it is known.
    """
    return to_message(read_object(text), kind)


def read_object(text: bytes) -> dict[str, Any]:
    """Read a JSON object; the first of the two steps of `decode`."""
    if sum(text.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUE_COUNT:
        raise _invalid(
            f"the JSON has more than {MAX_VALUE_COUNT:,} values; send large tables as files"
        )
    try:
        document = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_without_repetition,
        )
    except RecursionError:
        raise _invalid("the JSON is nested too deeply") from None
    except ValueError as error:
        raise _invalid(f"the JSON cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise _invalid("the JSON must be an object")
    return document


def to_message(document: Mapping[str, Any], kind: type[AnyMessage]) -> AnyMessage:
    """Make a message of what `read_object` gave; the second of the two steps of `decode`."""
    for path in _broken_base64(document, kind.DESCRIPTOR, ""):
        raise _invalid(f"{path} is not base64", path)
    try:
        return json_format.ParseDict(dict(document), kind())
    except (json_format.ParseError, RecursionError, ValueError) as error:
        raise _explained(str(error)) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f'{name} is no JSON; write "{name}" as a string, or null for a missing cell')


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits[:40]} is beyond the range of a double")
    return value


def _without_repetition(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'the name "{twice[:100]}" stands twice in one object')
    return document


def _broken_base64(value: Any, kind: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    for field in kind.fields:
        for name in {field.name, field.json_name} & value.keys():
            inner = f"{path}.{field.name}".removeprefix(".")
            yield from _broken_in_field(value[name], field, inner)


def _broken_in_field(value: Any, field: Any, path: str) -> Iterator[str]:
    if field.message_type is not None:
        many = value if isinstance(value, list) else [value]
        for index, item in enumerate(many):
            place = f"{path}[{index}]" if isinstance(value, list) else path
            yield from _broken_base64(item, field.message_type, place)
    elif field.type == field.TYPE_BYTES and isinstance(value, str) and not _BASE64.fullmatch(value):
        yield path


def _explained(message: str) -> ExplainError:
    """Turn a message of json_format into one with the field's path, and without its nesting."""
    message, _, known = message.partition("\n Available Fields(except extensions): ")
    chain: list[str] = []
    while found := _PREFIX.match(message):
        chain.append(found[1])
        message = message[found.end() :]
    message = message.rstrip(".")
    path = ".".join(chain)
    if found := _PATH.search(message):
        path = found[1].removeprefix(".")
        message = message[: found.start()]
    if unknown := re.search(r'has no field named "(.*)"$', message, re.DOTALL):
        path = ".".join(part for part in (path, unknown[1]) if part)
        fields = ", ".join(re.findall(r"'(\w+)'", known))
        message = f'unknown field "{unknown[1]}"; known here: {fields}'
    path = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda capital: "_" + capital[1].lower(), path)
    return _invalid(f"{path}: {message}" if path else message, path)


def _invalid(message: str, field: str = "") -> ExplainError:
    return ExplainError(Reason.INVALID_REQUEST, message, field)
