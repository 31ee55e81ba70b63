"""Words for attributions: names of values, and of a feature with its value in a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.methods.attributions import Result
from onnxplain_server.plots.elements.labels import clean, shorten, with_value
from onnxplain_server.plots.elements.number_formats import (
    not_finite,
    scale_format,
    spell,
    spell_among,
)

_MAX_LETTERS = 28


def result_kind(result: Result) -> str:
    """Name the values of a result."""
    # Only Shapley values add up, so only they have a checked sum.
    return value_kind(is_shapley=len(result.additivity_errors) > 0)


def value_kind(*, is_shapley: bool) -> str:
    """Name values."""
    return "Shapley values" if is_shapley else "Banzhaf values"


def row_name(row_indices: Sequence[int] | Indices, row: int, count: int) -> str:
    """Name one of `count` rows explained: by its number in the table, or among those given."""
    if len(row_indices):
        return f"row {row_indices[row]:,}"
    return f"given row {row:,}" if count > 1 else "the given row"


def own_values(values: Array) -> list[str]:
    """Write the values of a feature: in words where they are missing or infinite."""
    return _written(values, range(len(values)))


def own_value(values: Array, row: int) -> str:
    """Write the value of a feature at a row, as `own_values` does."""
    return _written(values, [row])[0]


def _written(values: Array, rows: Sequence[int]) -> list[str]:
    if values.dtype == object:
        texts = [str(values[row] or "") for row in rows]
        return [shorten(clean(text), _MAX_LETTERS) if text else "missing" for text in texts]
    numbers = values.astype(np.float64)
    form = scale_format(numbers)
    return [_number(numbers[row], form) for row in rows]


def _number(value: float, form: str) -> str:
    if np.isnan(value):
        return "missing"
    return not_finite(value) if np.isinf(value) else spell(value, form)


def player_at(result: Result, player: int, row: int) -> str:
    """Write the features of a player with their values at a row: "rooms = 7.1"."""
    own = dict(zip(result.names, result.feature_values, strict=True))
    return " and ".join(
        with_value(shorten(clean(name), _MAX_LETTERS), own_value(own[name], row))
        for name in result.features[player]
    )


def estimate_remark(errors: Array) -> list[str]:
    """Tell how far estimated values may be off; nothing for exact ones, which have no errors."""
    finite = errors[np.isfinite(errors)]
    if not finite.size:
        return []
    largest = finite.max(keepdims=True)
    return [f"Values are estimated, with standard errors up to {spell_among(largest[0], largest)}"]
