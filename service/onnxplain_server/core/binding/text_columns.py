"""Columns that inputs of text take, by names alone: files without types are read as text there."""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain_server.core.binding.column_order import column_order
from onnxplain_server.core.binding.input_columns import has_matrices
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.model import Input

_TEXT = "string"


def text_columns(
    inputs: Sequence[Input],
    present: Sequence[str],
    requested: Sequence[str],
    non_features: Sequence[str],
    input_columns: Sequence[tuple[str, tuple[str, ...]]] = (),
) -> tuple[str, ...]:
    """Return the columns that inputs of text take, as far as names tell; see `rows.bind`.

    Parameters
    ----------
    inputs : sequence of Input
    present : sequence of str
        Columns of the table.
    requested : sequence of str
        Columns that the request names; may be empty.
    non_features : sequence of str
        Target and weight columns, empty where there is none.
    input_columns : sequence of (str, tuple of str)
        Columns by input, in place of `requested`; may be empty.
    """
    texts = {each.name for each in inputs if each.type == _TEXT}
    if not texts:
        return ()
    names: Sequence[str]
    if input_columns:
        names = [name for owner, columns in input_columns if owner in texts for name in columns]
    elif len(inputs) == 1 and not (inputs[0].width == 1 and inputs[0].name in present):
        names = _of_matrix(inputs[0], present, requested, non_features)
    elif requested and has_matrices(inputs):
        owners = [each.name for each in inputs for _ in range(each.width or 1)]
        names = [name for owner, name in zip(owners, requested, strict=False) if owner in texts]
    else:
        names = _named_alike(inputs, present, non_features)
    return tuple(name for name in names if name in present)


def _of_matrix(
    matrix: Input, present: Sequence[str], requested: Sequence[str], non_features: Sequence[str]
) -> Sequence[str]:
    try:
        return column_order(matrix.columns, requested, present, non_features)[0]
    except ExplainError:
        return ()  # the binding tells what is wrong


def _named_alike(
    inputs: Sequence[Input], present: Sequence[str], non_features: Sequence[str]
) -> Sequence[str]:
    """Return the columns that inputs of text are named like, or all others if only these take any.

    Beside a matrix of numbers, columns that look like numbers may be for either.
    """
    alone = {each.name: each.type for each in inputs if (each.width or 1) == 1}
    named = [name for name in present if alone.get(name) == _TEXT]
    left = [each for each in inputs if each.name not in present or each.name not in alone]
    if not left or any(each.type != _TEXT for each in left):
        return named
    return [*named, *(name for name in present if name not in alone and name not in non_features)]
