"""Check of first layers against the model, and of the table's values for their sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model
from onnxplain_server.core.rows import Features, feeds
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.layers.model import FirstLayers, LayerSums
from onnxplain_server.effects.layers.rows import LayeredRows, put

_BLOCK_NUMBERS = 1 << 22
"""Values that the front computes at once, which bounds memory."""
_SHARE_OF_LARGEST = 0.25
"""Of the largest number of a type, up to which sums may reach on the way."""
_REST_ROUNDINGS = 2_048
"""Roundings of the largest output by which the rest alone may differ from the whole model: the
runtime fuses other nodes of it. This is the tolerance of the check of rows, 1e-4, in float32."""


def why_not_finite(first: FirstLayers, features: Features) -> str:
    """Say which feature has a term that is no finite number in some row; empty where none has.

    Sums of such terms cannot be taken apart: 0 times a value that is missing or infinite is no
    number. Nor can sums of terms that are beyond the numbers of the model's type.
    """
    sums = [tensor for tensor in first.tensors if isinstance(tensor.source, LayerSums)]
    if not sums:
        return ""
    largest = [np.zeros((1, len(own))) for own in first.features]
    columns = features.cast_columns()
    step = max(1, _BLOCK_NUMBERS // max(sum(map(len, first.features)), 1))
    for start in range(0, features.n_rows, step):
        values = first.front(feeds(features, [own[start : start + step] for own in columns]))
        for most, own in zip(largest, values, strict=True):
            np.maximum(most, np.abs(own.astype(np.float64)).max(axis=0), out=most)
    for tensor in sums:
        assert isinstance(tensor.source, LayerSums)  # noqa: S101 - chosen above
        for number in tensor.source.matrices:
            wrong = np.flatnonzero(~np.isfinite(largest[number][0]))
            if len(wrong):
                name = features.names[first.features[number][wrong[0]]]
                return f"a term of {name!r} in its first layer is not finite in some rows"
        if (
            tensor.source.sizes(largest)
            > _SHARE_OF_LARGEST * float(np.finfo(str(tensor.dtype)).max)
        ).any():
            return "the terms of its first layer are too large to be added otherwise"
    return ""


def why_they_differ(first: FirstLayers, model: Model, background: Background) -> str:
    """Compare rows made of parts with whole ones; say what differs, or nothing.

    Parameters
    ----------
    background : Background
        Rows of the table; as many are made of their values, each column in another order.
    """
    rng = np.random.default_rng(0)
    rows, every = LayeredRows(first, background), range(len(background.columns))
    features, columns = background.features, background.columns
    mismatch = _difference(first, model, feeds(features, columns), rows.without([]))
    if mismatch:
        return mismatch
    order = [rng.permutation(len(background)) for _ in every]
    moved = [own[places] for own, places in zip(columns, order, strict=True)]
    parts = rows.parts_at(every, moved)
    made = [put(kept, move) for kept, move in zip(rows.without(every), parts, strict=True)]
    try:
        return _difference(first, model, feeds(features, moved), made)
    except ExplainError as error:
        if error.reason is not Reason.PREDICTION_FAILED:
            raise
        return ""  # the model takes only some combinations of these values


def _difference(
    first: FirstLayers, model: Model, whole: Mapping[str, Array], made: Sequence[Array]
) -> str:
    """Compare tensors, and predictions, of some rows."""
    rounding = float(model.roundings.max(initial=2.0**-53))
    allowed = first.errors(first.front(whole), rounding)
    for own, expected, error in zip(made, first.inner(whole), allowed, strict=True):
        if not _are_close(own, expected, error):
            return "its first layers give other numbers than the sums of their parts"
    predicted = model.predict(whole).astype(np.float64)
    behind = first.rest.predict(first.feeds(made)).astype(np.float64)
    size = np.abs(predicted, where=np.isfinite(predicted), out=np.zeros(predicted.shape))
    if not _are_close(behind, predicted, _REST_ROUNDINGS * rounding * size.max(initial=0.0)):
        return "what follows its first layers gives other numbers than the whole model"
    return ""


def _are_close(actual: Array, expected: Array, allowed: Array | float) -> bool:
    """Return whether numbers differ by no more than allowed; those that are not finite by none."""
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        is_close = np.abs(actual - expected) <= allowed
    same: Array = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    return bool((is_close | same).all())
