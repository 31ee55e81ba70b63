"""Numbers in plots and reports: rounded, in d3 formats, and spelled as d3 does."""

from __future__ import annotations

import math
import re

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.number_texts import between_zero_and_one

_LARGEST = 1e300
NOT_SHOWN = f"Not shown, because not finite or beyond ±{_LARGEST:g}".replace("+", "")
"""Start of a remark that counts such numbers."""
_SMALL, _LARGE = 1e-6, 1e15
"""Sizes below and from which on numbers have an exponent."""
_ROUNDED = 1e9
"""Size from which on numbers are not written to whole units."""
_YEARS = 1500, 2200
"""First and last number that is taken for a year, where all are between them."""
_DATA_DIGITS = 9
_DIGITS_BELOW_ONE = 6
"""Most digits of a d3 format that tell numbers from 1."""
_MOST_DIGITS = 17
"""That tell any two numbers of float64 apart."""


def data_number(value: float, more: int = 0) -> float:
    """Round to nine digits, more than any plot shows, or to `more`; keeps specifications short."""
    return float(f"{value:.{min(_DATA_DIGITS + more, _MOST_DIGITS)}g}")


def drawable(values: Array) -> Array:
    """Replace numbers that no scale of a picture can hold by NaN, as it shows none of them."""
    is_large = np.abs(values) > _LARGEST
    return np.where(is_large, np.nan, values) if is_large.any() else values


def share_format(values: Array) -> str:
    """Choose a d3 format for separate numbers: three significant digits, or to whole units.

    More digits where three would make 1 of a number below it.
    """
    largest = _largest(values)
    if largest != 0 and not _SMALL <= largest < _LARGE:
        return ".2~e"
    sizes = np.abs(values)
    below_one = sizes[(sizes >= 0.9995) & (sizes < 1 - 10.0**-_DIGITS_BELOW_ONE)]
    digits = -math.floor(math.log10(1 - below_one.max())) if below_one.size else 0
    return f",.{max(_share_digits(largest), digits)}~r"


def scale_format(values: Array) -> str:
    """Choose a d3 format for numbers on one scale: it resolves a hundredth of their span."""
    largest = _largest(values)
    if largest != 0 and not _SMALL <= largest < _LARGE:
        return ".3~e"
    if largest != 0 and not 1e-4 <= largest < _ROUNDED:
        return ",.4~r"
    finite = values[np.isfinite(values)]
    span = float(np.ptp(finite)) if finite.size else 0.0
    decimals = 2 - math.floor(math.log10(span if span > 1e-9 * largest else largest or 1.0))
    separator = "" if finite.size and _are_years(finite) else ","
    return f"{separator}.{min(max(decimals, 0), 12)}~f"


def _are_years(values: Array) -> bool:
    """Tell whether numbers may be years, which have no separator of thousands."""
    first, last = _YEARS
    return bool(values.min() >= first and values.max() <= last)


def spell(value: float, d3_format: str) -> str:
    """Format a number as d3 does, by one of the formats of this file."""
    digits, kind = int(re.sub(r"\D", "", d3_format)), d3_format[-1]
    if kind == "e":
        mantissa, exponent = f"{value:.{digits}e}".split("e")
        text = f"{_trim(mantissa)}e{int(exponent):+d}"
    elif kind == "r":
        text = _significant(value, digits)
    else:
        text = _trim(f"{value:{d3_format.replace('~', '')}}")
    return text.replace("-", "−") if text != "-0" else "0"


def spell_apart(value: float, others: Array, d3_format: str) -> str:
    """Format a number, with more digits where one of `others` beside it would be written alike.

    Parameters
    ----------
    others : (n,)
        Finite and ascending.
    """
    place = int(np.searchsorted(others, value))
    beside = [other for other in others[max(place - 1, 0) : place + 2].tolist() if other != value]
    text = spell(value, d3_format)
    if text not in {spell(other, d3_format) for other in beside}:
        return text
    for digits in range(4, _MOST_DIGITS + 1):
        text = f"{value:,.{digits}g}"
        if text not in {f"{other:,.{digits}g}" for other in beside}:
            break
    return text.replace("-", "−")


def spell_on_scale(value: float, values: Array) -> str:
    """Format a number of a scale, rounded to a hundredth of the span of its values."""
    span = float(np.ptp(values[np.isfinite(values)]))
    decimals = 2 - math.floor(math.log10(span)) if span else 6
    return between_zero_and_one(value, spell(round(value, decimals), scale_format(values)))


def not_finite(value: float) -> str:
    """Return words for a number that is not finite."""
    return "no number" if math.isnan(value) else "infinite" if value > 0 else "minus infinite"


def is_flat(values: Array) -> bool:
    """Tell whether numbers differ by no more than float32 rounding."""
    finite = values[np.isfinite(values)]
    return bool(finite.size and np.ptp(finite) <= 1e-6 * np.abs(finite).max())


def spell_beside(value: float, others: Array) -> str:
    """Format a number with three digits, or "almost 0" if it is tiny relative to the others."""
    if not math.isfinite(value):
        return not_finite(value)
    if 0 < abs(value) < 1e-4 * _largest(others):
        return "almost 0"
    return spell_among(value, others)


def spell_among(value: float, others: Array) -> str:
    """Format a number with three digits, or to whole units; with an exponent if others have one."""
    number_format = share_format(others)
    is_rounded = not number_format.endswith("r") or _largest(others) >= _ROUNDED
    own_format = number_format if is_rounded else f",.{_share_digits(abs(value))}~r"
    return between_zero_and_one(value, spell(value, own_format))


def spell_whole(value: float) -> str:
    """Format a count or a weight to whole units, or to six digits if that is finer."""
    if not math.isfinite(value):
        return not_finite(value)
    is_whole = abs(value) >= 1e5 or value == round(value)
    text = f"{value:,.0f}" if is_whole and abs(value) < 1e15 else f"{value:,.6g}"
    return text.replace("-", "−")


def _share_digits(size: float) -> int:
    """Return the digits of a number: three, or to whole units where these are not too many."""
    return 3 if not 0 < size < _ROUNDED else max(math.floor(math.log10(size)) + 1, 3)


def _significant(value: float, digits: int) -> str:
    """Round to significant digits, without exponent."""
    decimals = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    return _trim(f"{round(value, decimals):,.{max(decimals, 0)}f}")


def _trim(text: str) -> str:
    """Remove trailing zeros of a fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _largest(values: Array) -> float:
    """Return the largest finite magnitude; 0 if there is none."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0
