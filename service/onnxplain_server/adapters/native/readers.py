"""Readers of native tree files, found by the content: from bytes to an ONNX model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import orjson
from onnx import ModelProto

from onnxplain_server.adapters.native import catboost, lightgbm, ubjson, xgboost
from onnxplain_server.adapters.native.faults import invalid
from onnxplain_server.adapters.native.fields import Fields
from onnxplain_server.adapters.native.forest import NativeForest
from onnxplain_server.adapters.native.onnx_graph import write_graph
from onnxplain_server.adapters.native.tidying import tidy
from onnxplain_server.core.messages.native_files import NativeFormat, native_format
from onnxplain_server.core.model_limits import ModelLimits

_Reader = Callable[[Fields, ModelLimits], NativeForest]

_DOCUMENTS: Mapping[str, _Reader] = {
    "learner": xgboost.read,
    "tree_info": lightgbm.read_json,
    "features_info": catboost.read,
}
"""Readers of JSON and UBJSON, by a field that only the library's own files have."""


class NativeModel(NamedTuple):
    """Native file as an ONNX model.

    Attributes
    ----------
    model : ModelProto
    notes : tuple of str
        Sentences about what of the file is used, where it could be read in another way.
    """

    model: ModelProto
    notes: tuple[str, ...]


def read_native(content: bytes, limits: ModelLimits) -> NativeModel | None:
    """Read a native tree file; None for a file of another kind.

    Raises
    ------
    ExplainError
        INVALID_MODEL, UNSUPPORTED_MODEL or MODEL_TOO_COMPLEX.
    """
    forest = read_forest(content, limits)
    return None if forest is None else NativeModel(write_graph(forest), forest.notes)


def read_forest(content: bytes, limits: ModelLimits) -> NativeForest | None:
    """Read a native tree file as a tidy forest; see `read_native`."""
    kind = native_format(content)
    if kind is None:
        return None
    with np.errstate(all="ignore"):  # `tidy` looks for numbers that are not finite
        return tidy(_READERS[kind](content, limits), limits)


def _read_json(content: bytes, limits: ModelLimits) -> NativeForest:
    return _read_document(Fields(_parse_json(content)), limits)


def _read_ubjson(content: bytes, limits: ModelLimits) -> NativeForest:
    return _read_document(Fields(ubjson.parse(content)), limits)


def _read_document(document: Fields, limits: ModelLimits) -> NativeForest:
    for field, reader in _DOCUMENTS.items():
        if field in document:
            return reader(document, limits)
    raise invalid("The model's JSON is none of a tree library that is read.")


def _parse_json(content: bytes) -> object:
    """Parse JSON; with NaN or infinities, as in XGBoost's, by the slower standard parser."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as fault:
        if not any(word in content for word in (b"NaN", b"Infinity")):
            raise invalid(f"The model is broken JSON: {fault}.") from None
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as fault:
        raise invalid(f"The model is broken JSON: {fault}.") from None


_READERS: Mapping[NativeFormat, Callable[[bytes, ModelLimits], NativeForest]] = {
    NativeFormat.JSON: _read_json,
    NativeFormat.UBJSON: _read_ubjson,
    NativeFormat.LIGHTGBM_TEXT: lightgbm.read_text,
}
