"""CatBoost's model: trees, scale and bias, loss and features, to a forest."""

from __future__ import annotations

import re

import numpy as np

from onnxplain_server.adapters.native.catboost.features import read_features
from onnxplain_server.adapters.native.catboost.losses import read_loss
from onnxplain_server.adapters.native.catboost.splits import LARGEST, SplitReader
from onnxplain_server.adapters.native.catboost.trees import (
    CatBoostTree,
    join,
    read_nested,
    read_symmetric,
)
from onnxplain_server.adapters.native.faults import invalid, too_complex
from onnxplain_server.adapters.native.fields import Fields
from onnxplain_server.adapters.native.forest import NativeForest
from onnxplain_server.core.arrays import Vector
from onnxplain_server.core.model_limits import ModelLimits

_VERSION = re.compile(r"tags/v(\d+(?:\.\d+){1,3})\b")


def read(document: Fields, limits: ModelLimits) -> NativeForest:
    """Read a model.

    Borders are float32, and a value goes right where it is greater.

    Raises
    ------
    ExplainError
        INVALID_MODEL, UNSUPPORTED_MODEL, or MODEL_TOO_COMPLEX for too many outputs.
    """
    reader = SplitReader(read_features(document.child("features_info")))
    trees = _trees(document, reader)
    scale, bias = _scale_and_bias(document)
    widths = {tree.values.shape[1] for tree in trees}
    if len(widths) > 1:
        raise invalid(f"The model has trees of {sorted(widths)} values in a leaf.")
    (width,) = widths
    if width > limits.target_count:
        raise too_complex(width, limits.target_count, "columns in a tree ensemble")
    if len(bias) not in {0, 1, width}:
        raise invalid(f"The model has {len(bias):,} values of bias for {width:,} outputs.")
    loss = read_loss(document.child("model_info"), width)
    nodes, leaves = join(trees, scale)
    if not max(np.abs(leaves.values).max(), np.abs(bias).max(initial=0)) <= LARGEST:
        raise invalid("The model has a leaf or a bias that is no number of float32.")
    return NativeForest(
        producer=_producer(document.child("model_info")),
        features=reader.features(),
        nodes=nodes,
        leaves=leaves,
        base=np.broadcast_to(bias if len(bias) else np.zeros(1), (width,)),
        link=loss.link,
        labels=loss.labels,
    )


def _trees(document: Fields, reader: SplitReader) -> list[CatBoostTree]:
    name, read_tree = (
        ("oblivious_trees", read_symmetric)
        if "oblivious_trees" in document
        else ("trees", read_nested)
    )
    trees = [read_tree(tree, reader) for tree in document.children(name)]
    if not trees:
        raise invalid("The model has no trees, without which CatBoost does not predict.")
    return trees


def _scale_and_bias(document: Fields) -> tuple[float, Vector]:
    """Return the factor of the trees' sum and what is added to it, a number or one per output."""
    if "scale_and_bias" not in document:
        return 1.0, np.zeros(1)
    parts = document.items("scale_and_bias")
    if len(parts) != 2:
        raise document.fault("scale_and_bias", f"has {len(parts):,} parts instead of 2")
    named = Fields(dict(zip(("scale", "bias"), parts, strict=True)), "scale_and_bias")
    return named.number("scale"), named.one_or_more("bias")


def _producer(info: Fields) -> str:
    version = _VERSION.search(info.text("catboost_version_info", ""))
    return f"CatBoost {version[1]}" if version else "CatBoost"
