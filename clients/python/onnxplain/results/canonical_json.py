"""Canonical JSON of messages, as REST and the command line write it."""

from __future__ import annotations

import json

from google.protobuf import json_format
from google.protobuf.message import Message


def to_json(message: Message) -> str:
    """Write a message; lists and numbers are present when empty or 0, absent choices are not."""
    document = json_format.MessageToDict(message, always_print_fields_with_no_presence=True)
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
