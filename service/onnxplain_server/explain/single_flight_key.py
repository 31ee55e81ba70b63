"""Single-flight key: a hash of all that the result of a method depends on.

Requests whose keys are equal share one computation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np

from onnxplain_server.effects.background import Background, fingerprint
from onnxplain_server.explain.question import Question
from onnxplain_server.methods.registry import Options


def single_flight_key(
    background: Background, output_names: tuple[str, ...], question: Question, options: Options
) -> str:
    """Hash one method's result by its inputs.

    Parameters
    ----------
    background : Background
        Gives the digest of the rows and weights.
    output_names : tuple of str
        Explained outputs; empty without a model.
    question : Question
    options : Options
        After defaults.
    """
    # The other methods, plots and their titles do not change the method's result.
    # Of a budget, the rows and options that it was resolved to count alone.
    relevant = replace(
        question,
        methods=(),
        plots=True,
        model_name="",
        expected_prediction_columns=(),
        budget_seconds=None,
        budget_predicted_row_count=None,
    )
    return digest_of((background.digest, output_names, relevant, options))


def digest_of(value: object) -> str:
    """Hash a value of tuples, data classes, mappings, arrays and plain values."""
    return hashlib.sha256(_serialize(value)).hexdigest()


def _serialize(value: object) -> bytes:
    """Serialize a value injectively: different values give different bytes."""
    if isinstance(value, np.ndarray):
        return fingerprint(value)
    if isinstance(value, tuple) or is_dataclass(value) or isinstance(value, Mapping):
        parts = [_serialize(part) for part in _parts(value)]
        head = type(value).__name__.encode()
        return head + b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    return repr(value).encode()


def _parts(value: object) -> Iterator[object]:
    if isinstance(value, tuple):
        yield from value
    elif isinstance(value, Mapping):
        yield from value.items()
    elif is_dataclass(value):
        yield from (getattr(value, field.name) for field in fields(value))
