"""Names of a model for the columns of an array, which has none: f0, f1, ..."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from onnxplain_server.core.model import HasInputs
from onnxplain_server.explain.question import Question


def model_names(
    present: Sequence[str], question: Question, model: HasInputs | None
) -> Mapping[str, str]:
    """Return the model's names for the columns of an array of as many, by those of the array.

    Empty for other tables, and for a request that calls columns by their numbers.

    Parameters
    ----------
    present : sequence of str
        Columns of the table.
    question : Question
    model : HasInputs or None
    """
    if model is None or len(model.inputs) != 1 or question.feature_columns:
        return {}
    [matrix] = model.inputs
    others = question.non_features
    rest = tuple(name for name in present if name not in others)
    is_taken = matrix.name in rest or not set(present).isdisjoint(matrix.columns)
    if question.input_columns or is_taken or len(rest) != len(matrix.columns):
        return {}
    if rest != tuple(f"f{j}" for j in range(len(rest))) or _mentions(question, rest):
        return {}
    return dict(zip(rest, matrix.columns, strict=True))


def _mentions(question: Question, names: tuple[str, ...]) -> bool:
    words = {word for text in _texts(question) for word in re.findall(r"\w+", text)}
    return not words.isdisjoint(names)


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts of a question and its methods."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts((*value, *value.values()))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _texts(item)
    elif is_dataclass(value):
        yield from _texts(tuple(getattr(value, field.name) for field in fields(value)))
