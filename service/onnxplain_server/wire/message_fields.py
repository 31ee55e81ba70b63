"""Fields of messages, absent ones told from defaults."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message

from onnxplain_server.core.errors import ExplainError, Reason


def enum(message: Message, name: str, path: str) -> str:
    """Return the name of an enum's value; empty where it is unspecified."""
    number = getattr(message, name)
    kind = message.DESCRIPTOR.fields_by_name[name].enum_type
    values = kind.values_by_number if kind else {}
    if number not in values:
        raise ExplainError(Reason.INVALID_OPTION, f"{name} has no value number {number}", path)
    return "" if number == 0 else str(values[number].name)


def given(message: Message, *names: str) -> dict[str, Any]:
    """Return the optional fields that are set."""
    return {name: getattr(message, name) for name in names if message.HasField(name)}
