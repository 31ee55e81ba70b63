"""Texts of numbers that stay true when they are read again: rounded into a range, and shares."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

_FEWEST_DIGITS, _MOST_DIGITS = 4, 17


def share_text(share: float) -> str:
    """Write a share of rows in percent; a few rows are not told as none, nor most as all."""
    if 0 < share < 0.005:
        return "below 1%"
    return "almost 100%" if 0.995 <= share < 1 else f"{share:.0%}"


def text_within(value: float, low: float | None = None, high: float | None = None) -> str:
    """Write a number with four digits or more, as few as its range needs.

    Parameters
    ----------
    value : float
        Finite, of the range.
    low, high : float
        First and last number of the range. Default: the number alone.
    """
    low, high = (value if end is None else end for end in (low, high))
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        for text in _near(value, digits):
            if _is_within(text, low, high):
                return text
    return repr(value)


def _is_within(text: str, low: float, high: float) -> bool:
    """Tell whether the number of a text is one of a range; a single float32 is read as such."""
    number = float(text)
    if low == high == float(np.float32(low)):
        number = float(np.float32(number))
    return low <= number <= high


def _near(value: float, digits: int) -> Iterator[str]:
    """Yield a value rounded to digits, the nearest first, then upwards and downwards."""
    if not value or not math.isfinite(value):
        yield f"{value:g}"
        return
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    for number in (
        round(value, decimals),
        math.ceil(value * 10.0**decimals) / 10.0**decimals,
        math.floor(value * 10.0**decimals) / 10.0**decimals,
    ):
        yield _plain(number, max(decimals, 0))


def _plain(number: float, decimals: int) -> str:
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
