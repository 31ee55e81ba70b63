"""Combinations of the values of several features, told as texts."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array


def combination_texts(names: Sequence[str], columns: Sequence[Array]) -> Array:
    """Tell combinations of values as texts, no two of them the same: (n_combinations,) of str.

    Of indicators, all of them 0 or 1, the names of those that are 1; otherwise "a = 1, b = x".

    Parameters
    ----------
    columns : sequence of (n_combinations,)
        Of different combinations.
    """
    combinations = list(zip(*([_value_text(v) for v in own] for own in columns), strict=True))
    texts = [_values_text(names, values) for values in combinations]
    if all(column.dtype != object and np.isin(column, (0, 1)).all() for column in columns):
        ones = [_ones_text(names, values) for values in zip(*columns, strict=True)]
        texts = ones if len(set(ones)) == len(ones) else texts
    if len(set(texts)) < len(texts):  # where values have signs of the texts around them
        texts = [json.dumps(values) for values in combinations]
    return np.array(texts, dtype=object)


def _ones_text(names: Sequence[str], values: Sequence[float]) -> str:
    return " + ".join(n for n, value in zip(names, values, strict=True) if value) or "none"


def _values_text(names: Sequence[str], values: Sequence[str]) -> str:
    pairs = zip(names, values, strict=True)
    return ", ".join(f"{name} = {value}" if value else f"{name} missing" for name, value in pairs)


def _value_text(value: object) -> str:
    """Return the shortest text of a number in its type; "" for a missing value."""
    if isinstance(value, np.floating):
        return "" if np.isnan(value) else str(value).removesuffix(".0")
    return str(value)
