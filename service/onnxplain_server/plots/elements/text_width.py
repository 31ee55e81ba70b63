"""Widths of texts in pixels, by the metrics of Helvetica and Arial, and labels that fit beside."""

from __future__ import annotations

import math
from collections.abc import Sequence

LABEL_SIZE = 12
"""Pixels of the letters of labels: the smallest on a plot."""

_FIRST = 32
_ADVANCES = (
    *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556,) * 10,
    *(278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500),
    *(667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278),
    *(278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556),
    *(556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584),
)
"""Advances of the characters from the space to "~", in thousandths of the size of the letters."""
_OTHER, _WIDE = 700, 1000
"""Those of other letters, and of letters of East Asia and symbols, which fill a square."""
_GAP = 6
"""Pixels between labels side by side."""
_SLANT = 35
_LINE = 1.15
"""Height of a line, as a share of the size of the letters."""


def text_width(text: str, size: float = LABEL_SIZE) -> float:
    """Return the width of a line in pixels."""
    return sum(map(_advance, text)) * size / 1000


def _advance(letter: str) -> int:
    place = ord(letter) - _FIRST
    if 0 <= place < len(_ADVANCES):
        return _ADVANCES[place]
    return _OTHER if letter < "\u2000" else _WIDE


def label_angle(labels: Sequence[str], step: float) -> int:
    """Return the angle of labels below an axis, in degrees, at which no two overlap.

    Level where each fits into its step, or else slanted, or else upright.

    Parameters
    ----------
    step : float
        Pixels from one label to the next one.
    """
    if max(map(text_width, labels), default=0.0) + _GAP <= step:
        return 0
    if step * math.sin(math.radians(_SLANT)) >= _LINE * LABEL_SIZE:
        return -_SLANT
    return -90


def cut_to_width(text: str, width: float) -> str:
    """Cut a text in its middle to a width in pixels."""
    if text_width(text) <= width:
        return text
    for count in range(len(text) - 1, 1, -1):
        tail = count // 3
        short = f"{text[: count - tail].rstrip()}…{text[len(text) - tail :].lstrip()}"
        if text_width(short) <= width:
            return short
    return "…"
