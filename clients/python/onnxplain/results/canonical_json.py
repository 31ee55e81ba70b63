"""Canonical JSON of messages, as REST and the command line write it."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message

_MessageType = TypeVar("_MessageType", bound=Message)


def to_json(message: Message) -> str:
    """Write a message; lists and numbers are present when empty or 0, absent choices are not."""
    document = json_format.MessageToDict(message, always_print_fields_with_no_presence=True)
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)


def from_json(text: str | bytes, message: _MessageType) -> _MessageType:
    """Fill a message.

    Raises
    ------
    ValueError
        Where the text is no such message, or holds what this version does not know.
    """
    try:
        return json_format.ParseDict(_object(text), message)
    except (json_format.ParseError, ValueError) as error:
        kind = message.DESCRIPTOR.name
        raise ValueError(
            f"this is no {kind} in JSON, or one of a newer onnxplain: {error}"
        ) from None


def _object(text: str | bytes) -> dict[str, Any]:
    document = json.loads(text)
    if isinstance(document, dict):
        return document
    raise ValueError(f"it holds a {type(document).__name__} in place of an object")
