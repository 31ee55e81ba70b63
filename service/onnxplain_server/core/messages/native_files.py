"""Native tree files, models of tree libraries in their own formats: recognized by their content.

Texts and UBJSON are told by their first bytes, JSON by the name of a field that a library writes.
No file of ONNX starts so: the first byte would open a group, which no version of ONNX has.
"""

from __future__ import annotations

from enum import Enum

_LOOKED_AT = 256
_SPACES = b" \t\r\n"
_LENGTHS = b"iUIlL#$"
"""What follows the brace of a UBJSON object: the type of the first name's length, or a header."""
_FIELDS = (b'"learner"', b'"tree_info"', b'"features_info"')
"""Names of fields of which each library's JSON has one."""


class NativeFormat(Enum):
    """Format of a native tree file."""

    JSON = "JSON"
    UBJSON = "UBJSON"
    LIGHTGBM_TEXT = "LightGBM's text"


def native_format(content: bytes | bytearray) -> NativeFormat | None:
    """Return the format of a native tree file; None for other files.

    Cost: O(n) for JSON, of which only files that name a field of a tree library count.
    """
    start = bytes(content[:_LOOKED_AT]).lstrip(_SPACES)
    if start.startswith((b"tree\n", b"tree\r\n")):
        return NativeFormat.LIGHTGBM_TEXT
    if start[:1] != b"{":
        return None
    if start[1:].lstrip(_SPACES)[:1] == b'"':
        has_field = any(field in content for field in _FIELDS)
        return NativeFormat.JSON if has_field else None
    return NativeFormat.UBJSON if content[:1] == b"{" and start[1:2] in _SIGNS else None


_SIGNS = frozenset(bytes([sign]) for sign in _LENGTHS)
