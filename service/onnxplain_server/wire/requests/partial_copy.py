"""Copies of messages without some of their fields, whose bytes are not even copied for a time."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def copy_without(message: Any, names: Collection[str]) -> Any:
    """Return a copy of a message without some of its fields.

    A cleared field would keep its memory as long as the copy lives.
    """
    copy = type(message)()
    for field, value in message.ListFields():
        if field.name in names:
            continue
        if field.is_repeated:
            getattr(copy, field.name).MergeFrom(value)
        elif field.message_type:
            getattr(copy, field.name).CopyFrom(value)
        else:
            setattr(copy, field.name, value)
    return copy
