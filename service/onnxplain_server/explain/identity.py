"""The name of a method's work: the same for requests whose answers are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np

from onnxplain_server.effects.background import fingerprint
from onnxplain_server.effects.engine import Effects
from onnxplain_server.explain.question import Question
from onnxplain_server.methods.registry import Options


def work_name(effects: Effects, question: Question, options: Options) -> str:
    """Name the work of one method on rows that were drawn.

    Parameters
    ----------
    effects : Effects
        Tells the rows, weights and outputs.
    question : Question
    options : Options
        After defaults.
    """
    # Neither the other methods nor plots are part of the method's result.
    asked = replace(question, methods=(), plots=True)
    told = (effects.background.digest, effects.output_names, asked, options)
    return hashlib.sha256(_bytes(told)).hexdigest()


def _bytes(value: object) -> bytes:
    """Write a value so that only equal ones are written alike."""
    if isinstance(value, np.ndarray):
        return fingerprint(value)
    if isinstance(value, tuple) or is_dataclass(value) or isinstance(value, Mapping):
        parts = [_bytes(part) for part in _parts(value)]
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
