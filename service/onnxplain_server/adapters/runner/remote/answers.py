"""Answers of remote models: what they show of the outputs, and when two of them are equal."""

from __future__ import annotations

import hashlib

import numpy as np

from onnxplain_server.core.arrays import Array

_SUM_TOLERANCE = 1e-4
_TOLERANCE = 1e-4
"""Relative to the largest answer: effect of another order of additions in other calls."""
_ROUNDINGS = 4
"""Roundings of float32 that are no difference between two answers to the same call."""


def score_classes(answers: Array) -> bool:
    """Return whether columns score classes: several in [0, 1] that add up to 1 in each row.

    Parameters
    ----------
    answers : (n_rows, n_outputs)
    """
    if answers.shape[1] < 2 or not len(answers) or not np.isfinite(answers).all():
        return False
    are_shares = bool(((answers >= 0) & (answers <= 1)).all())
    return are_shares and bool(np.allclose(answers.sum(axis=1), 1, rtol=0, atol=_SUM_TOLERANCE))


def differing_rows(actual: Array, expected: Array, *, same_call: bool) -> tuple[int, ...]:
    """Return positions of rows whose answers differ by more than rounding.

    Parameters
    ----------
    actual, expected : (n_rows, n_outputs)
    same_call : bool
        Whether both were asked for by equal calls, so that additions have the same order.
    """
    if actual.shape != expected.shape:
        return tuple(range(len(expected)))
    relative = _ROUNDINGS * float(np.finfo(np.float32).eps)
    if not same_call:
        relative = max(relative, _TOLERANCE)
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.where(np.isfinite(expected), expected, 0.0)
    tolerance = relative * (np.abs(finite).max(axis=0, initial=0.0) + np.abs(finite))
    with np.errstate(invalid="ignore"):
        close = np.abs(actual - expected) <= tolerance
    equal = close | (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    return tuple(np.flatnonzero(~equal.all(axis=1)).tolist())


def digest_of(answers: Array) -> str:
    """Return "sha256:" and the hexadecimal digest of answers, as float64."""
    content = np.ascontiguousarray(answers, "<f8")
    return f"sha256:{hashlib.sha256(repr(content.shape).encode() + content.tobytes()).hexdigest()}"
