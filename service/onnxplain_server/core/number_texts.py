"""Texts of numbers that stay true when they are read again: rounded into a range, and shares."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

_FEWEST_DIGITS, _MOST_DIGITS = 4, 17


_MOST_DECIMALS = 6
"""With which a number between 0 and 1 is told apart from both."""
_SUMMATION_ERROR = 1e-12
"""Within which weighted averages of 1 are 1."""


def share_text(share: float, decimals: int = 0) -> str:
    """Write a share in percent; a few rows are not told as none, nor most as all."""
    unit = 0.01 * 10.0**-decimals
    if 0 < share < unit / 2:
        return f"below {unit:.{decimals}%}"
    return "almost 100%" if 1 - unit / 2 <= share < 1 else f"{share:.{decimals}%}"


def between_zero_and_one(value: float, text: str) -> str:
    """Return the text of a number, with more decimals where rounding made it 0 or 1.

    Parameters
    ----------
    text : str
        The number as it was rounded, with "-" or "−" as its sign.

    Returns
    -------
    str
        "0.9998" of 0.99982, "almost 1" of 0.99999998, and likewise of negative numbers; `text`
        for 0, for 1 within the error of a sum, and for larger numbers.
    """
    size = abs(value)
    is_between = 0 < size < 1 - _SUMMATION_ERROR
    if not is_between or abs(float(text.replace("−", "-").replace(",", ""))) not in {0.0, 1.0}:
        return text
    sign = "−" if value < 0 else ""
    decimals = -math.floor(math.log10(min(size, 1 - size)))
    if decimals > _MOST_DECIMALS:
        return f"almost {sign}1" if size > 0.5 else "almost 0"
    return sign + _plain(size, decimals)


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
