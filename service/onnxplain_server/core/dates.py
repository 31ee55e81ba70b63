"""Dates in text: recognised, so that messages say what to do about them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from onnxplain_server.core.arrays import Array

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_LOOKED_AT = 100


def are_dates(texts: Array | Sequence[str]) -> bool:
    """Return whether the first texts, missing ones aside, begin like dates."""
    present = [text for text in texts[:_LOOKED_AT] if text]
    return bool(present) and all(_DATE.match(text) for text in present)
