"""Whether a model answers the same row alike: in a second call, in another order, in company.

Explanations compare answers for rows that differ in one feature; a model for which other things
matter too has none. Fresh sessions start from the same seed, so two of them would agree.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import ModelProto

from onnxplain_server.adapters.onnx.operators import random_operators
from onnxplain_server.adapters.onnx.run import Run
from onnxplain_server.arrays import Array

_TOLERANCE = 1e-4


def contradiction(model: ModelProto, run: Run, rows: Mapping[str, Array]) -> str:
    """Ask the same rows twice in one session, then in another order.

    Parameters
    ----------
    model : ModelProto
    run : Run
        The way in which rows will be evaluated.
    rows : mapping of input name to (n_rows, width)

    Returns
    -------
    str
        What was found, as the end of "the model is not a function of the row: ..."; empty where
        nothing was. What shows only on other rows stays unseen.
    """
    if drawn := random_operators(model):
        return f"it draws random numbers ({', '.join(drawn)})"
    first, second = run(rows), run(rows)
    if not all(map(_identical, first, second)):
        return "the same rows got different answers in two calls"
    n = len(next(iter(rows.values())))
    order = np.roll(np.arange(n), 1)
    moved = run({name: values[order] for name, values in rows.items()})
    if not all(alike(a, b[order]) for a, b in zip(moved, first, strict=True)):
        return "its answer for a row depends on the rows before and after it"
    return ""


def _identical(found: Array, expected: Array) -> bool:
    return np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f")


def alike(found: Array, expected: Array) -> bool:
    """Whether two answers are equal but for rounding."""
    if found.shape != expected.shape:
        return False
    if found.dtype.kind != "f":
        return bool(np.array_equal(found, expected))
    scale = np.abs(expected, where=np.isfinite(expected), out=np.zeros(expected.shape)).max()
    return np.allclose(found, expected, _TOLERANCE, _TOLERANCE * scale, equal_nan=True)
