"""Timeout that a REST client sets by a header."""

from __future__ import annotations

TIMEOUT = "X-Request-Timeout-Ms"

_DIGIT_LIMIT = 12


def milliseconds(header: str) -> int | None:
    """Read the header's value; None unless it is a positive whole number."""
    is_number = header.isascii() and header.isdigit() and len(header) <= _DIGIT_LIMIT
    return int(header) or None if is_number else None
