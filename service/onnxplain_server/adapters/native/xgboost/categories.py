"""XGBoost's categories: sets of codes in splits, and since 3.1 the values behind the codes."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias, TypeVar

import numpy as np

from onnxplain_server.adapters.native.faults import invalid, unsupported
from onnxplain_server.adapters.native.fields import Fields
from onnxplain_server.core.arrays import Indices, Vector

Categories: TypeAlias = tuple[str, ...] | tuple[float, ...]
"""Values of a feature's categories, in the order of their codes."""
_Value = TypeVar("_Value", str, float)

_CATEGORICAL = 1
"""Split type of a set of codes; 0 compares numbers."""
_ASCII = 127
_WHOLE_TEXTS = (3, 4)
"""First version that counts bytes of UTF-8, where earlier ones count letters."""
_MOST_CODES = 2**24
"""Codes are floats; from here on, not all whole numbers are."""


def read_sets(tree: Fields, node_count: int) -> dict[int, Vector]:
    """Read the codes that go right, by node; versions before 1.3 have none.

    Raises
    ------
    ExplainError
        INVALID_MODEL
    """
    if "split_type" not in tree:
        return {}
    types = tree.integers("split_type", node_count)
    nodes = np.flatnonzero(types == _CATEGORICAL)
    if not len(nodes):
        return {}
    if not np.array_equal(tree.integers("categories_nodes"), nodes):
        raise tree.fault("categories_nodes", "does not list the nodes of split_type 1")
    codes = tree.integers("categories")
    starts = tree.integers("categories_segments", len(nodes))
    sizes = tree.integers("categories_sizes", len(nodes))
    # Sets that overlap would let a small file claim many codes.
    if np.any(sizes < 1) or np.any(starts != np.cumsum(sizes) - sizes) or sizes.sum() > len(codes):
        raise tree.fault("categories_sizes", "does not divide the categories into sets")
    if np.any((codes < 0) | (codes >= _MOST_CODES)):
        raise tree.fault("categories", f"has a code that is not in [0, {_MOST_CODES:,})")
    ends = np.cumsum(sizes).tolist()
    pairs = zip(nodes.tolist(), starts.tolist(), ends, strict=True)
    return {node: codes[start:end].astype(np.float64) for node, start, end in pairs}


def read_values(
    model: Fields, feature_count: int, version: tuple[int, ...]
) -> list[Categories | None]:
    """Read the values of each feature's categories; None for numbers and unnamed codes.

    Raises
    ------
    ExplainError
        INVALID_MODEL; UNSUPPORTED_MODEL for integers that float32 does not hold.
    """
    encoders = list(model.child("cats").children("enc")) if "cats" in model else []
    if not encoders:
        return [None] * feature_count
    if len(encoders) != feature_count:
        raise invalid(
            f"The model has {feature_count:,} features, and categories for {len(encoders):,}."
        )
    return [
        _texts(encoder, version) if "offsets" in encoder else _integers(encoder)
        for encoder in encoders
    ]


def _texts(encoder: Fields, version: tuple[int, ...]) -> tuple[str, ...] | None:
    offsets, letters = encoder.integers("offsets"), encoder.integers("values")
    if len(offsets) < 2:
        return None
    if offsets[0] != 0 or offsets[-1] != len(letters) or np.any(np.diff(offsets) < 0):
        raise encoder.fault("offsets", f"does not divide {len(letters):,} bytes into texts")
    if version < _WHOLE_TEXTS and np.any((letters < 0) | (letters > _ASCII)):
        raise unsupported(
            "The model has categories with letters beyond ASCII, which XGBoost before 3.4 cuts "
            "when it reads a frame of pandas. Train with XGBoost 3.4, or name them in ASCII."
        )
    content = letters.astype(np.uint8).tobytes()  # bytes are written as signed numbers
    try:
        texts = [content[a:b].decode() for a, b in pairwise(offsets.tolist())]
    except UnicodeDecodeError:
        raise encoder.fault("values", "is no UTF-8") from None
    return _distinct(encoder, tuple(texts))


def _integers(encoder: Fields) -> tuple[float, ...] | None:
    values: Indices = encoder.integers("values")
    if np.any(np.abs(values) > _MOST_CODES):
        raise unsupported(
            f"The model has a category {np.abs(values).max():,}, which float32 does not hold "
            f"exactly. Give categories by texts, or by integers up to {_MOST_CODES:,}."
        )
    return _distinct(encoder, tuple(map(float, values.tolist()))) or None


def _distinct(encoder: Fields, values: tuple[_Value, ...]) -> tuple[_Value, ...]:
    if len(set(values)) < len(values):
        raise encoder.fault("values", "has a category twice")
    return values
