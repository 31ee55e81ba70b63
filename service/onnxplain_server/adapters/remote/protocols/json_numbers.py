"""Numbers in JSON, which has neither NaN nor infinity: what is sent, and what servers answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason

_NON_FINITE = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}
"""As the JSON of protobuf writes them."""


def encoded(document: object) -> bytes:
    """Return JSON; NaN in arrays becomes null, which servers read as a missing value."""
    return orjson.dumps(document, _as_list, orjson.OPT_SERIALIZE_NUMPY)


def _as_list(value: object) -> object:
    """Return an array of strings as a list, which orjson leaves to its caller."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError


def check_finite(feeds: Mapping[str, Array]) -> None:
    """Raise PREDICTION_FAILED for infinity, which would be sent as a missing value."""
    for name, values in feeds.items():
        if values.dtype.kind == "f" and np.isinf(values).any():
            raise ExplainError(
                Reason.PREDICTION_FAILED,
                f'Input "{name}" has infinite values, which JSON cannot carry: clean the table, '
                "or name an address of the model that speaks OIP_GRPC",
            )


def decoded(body: bytes | memoryview, failures: ModelFailures) -> dict[str, Any]:
    """Return an object of JSON, with NaN and Infinity as Python's servers write them.

    Raises
    ------
    ExplainError
        REMOTE_MODEL_ANSWER.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = _decoded_slowly(bytes(body), failures)
    if not isinstance(document, dict):
        raise failures.answer("answers with JSON that is no object")
    return document


def _decoded_slowly(body: bytes, failures: ModelFailures) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise failures.answer("answers with no JSON") from None


def number_array(values: object, failures: ModelFailures, cure: str) -> Array:
    """Return numbers of JSON as an array; null is NaN.

    Parameters
    ----------
    values : object
        A number, or nested lists of equal lengths.
    failures : ModelFailures
    cure : str
        What to name where there are labels in place of numbers.

    Raises
    ------
    ExplainError
        REMOTE_MODEL_ANSWER.
    """
    # As objects first: strings among numbers would make an array of strings, each as long as the
    # longest.
    array = np.array(values, dtype=object)
    types = set(map(type, array.ravel().tolist()))
    if types & {list, dict}:
        raise failures.answer("answers with lists of unequal lengths, or with objects in them")
    if str in types:
        array = _spelled_out(array, failures, cure)
    try:
        return array.astype(np.float64)
    except OverflowError:
        raise failures.answer("answers with a number beyond all doubles") from None


def _spelled_out(array: Array, failures: ModelFailures, cure: str) -> Array:
    numbers = np.empty(array.size, dtype=object)
    numbers[:] = [_spelled(item, failures, cure) for item in array.flat]
    return numbers.reshape(array.shape)


def _spelled(item: object, failures: ModelFailures, cure: str) -> object:
    """Return the number that a string of protobuf's JSON means."""
    if not isinstance(item, str):
        return item
    if item not in _NON_FINITE:
        raise failures.answer(f'answers with labels, such as "{item[:50]}", not numbers; {cure}')
    return _NON_FINITE[item]
