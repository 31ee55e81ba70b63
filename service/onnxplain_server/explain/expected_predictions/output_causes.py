"""Causes in the outputs: their order, a link, a factor or a constant. Arrays only."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.core.table import listed
from onnxplain_server.explain.expected_predictions.comparison import CauseKind, LikelyCause
from onnxplain_server.explain.expected_predictions.differences import agree, rounding_of, varies
from onnxplain_server.explain.expected_predictions.trial import CauseTrial

_FITTED_ROWS = 8
"""Rows with different predictions that a factor and a constant are fitted to, at least."""
_FEWEST_VALUES = 3
"""Different values that a link has to give."""


def output_order(trial: CauseTrial) -> LikelyCause | None:
    """Find another output for each column, none twice, with which it agrees."""
    chosen = [_nearest(trial.expected[:, [k]], trial.predicted) for k in range(len(trial.outputs))]
    if len(set(chosen)) < len(chosen) or chosen == trial.outputs.tolist():
        return None
    pairs = zip(trial.expected_columns, trial.outputs, chosen, strict=True)
    named = [
        f"{column!r} agrees with the output {trial.output_names[other]!r}, not "
        f"{trial.output_names[own]!r}"
        for column, own, other in pairs
        if own != other
    ]
    message = (
        f"The columns have another order than the outputs: {'; '.join(named[:4])}"
        f"{' and others' * (len(named) > 4)}. Name the columns in the order of the outputs, or "
        "choose the output."
    )
    return trial.cause(CauseKind.OUTPUT_ORDER, trial.agreeing(trial.predicted[:, chosen]), message)


def _nearest(column: Matrix, predicted: Matrix) -> int:
    with np.errstate(invalid="ignore", over="ignore"):
        distances = np.nan_to_num(np.abs(predicted - column), nan=np.inf, posinf=np.inf)
    return int(np.argmin(np.median(distances, axis=0)))


class _Link(NamedTuple):
    """Function of one side that may give the other, and what it would mean."""

    function: Callable[[Matrix], Matrix]
    of_expected: bool
    meaning: str


def _logistic(scores: Matrix) -> Matrix:
    halved: Matrix = 0.5 + 0.5 * np.tanh(scores / 2)
    return halved


def _softmax(scores: Matrix) -> Matrix:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Matrix = powers / powers.sum(axis=1, keepdims=True)
    return shares


_ASK_MARGIN = "ask for the scale MARGIN, or compare with the probabilities of the library"
_ASK_RESPONSE = (
    "ask for the scale RESPONSE; where that is what the model gives, write it with probabilities"
)
_SCORES = "scores before the {}, and the model gives probabilities"
_PROBABILITIES = "probabilities, and the model gives scores before the {}"
_LINKS = (
    _Link(_logistic, True, f"{_SCORES.format('logistic function')}: {_ASK_MARGIN}"),
    _Link(_softmax, True, f"{_SCORES.format('softmax')}: {_ASK_MARGIN}"),
    _Link(_logistic, False, f"{_PROBABILITIES.format('logistic function')}: {_ASK_RESPONSE}"),
    _Link(_softmax, False, f"{_PROBABILITIES.format('softmax')}: {_ASK_RESPONSE}"),
    _Link(np.exp, True, "logarithms of what the model gives: compare with their exp"),
    _Link(np.exp, False, "exp of what the model gives: set `prediction` to exp of the output"),
    _Link(np.expm1, True, "log1p of what the model gives: compare with their expm1"),
    _Link(np.expm1, False, "expm1 of what the model gives: set `prediction` to exp of it, minus 1"),
)


def link(trial: CauseTrial) -> LikelyCause | None:
    """Find a link function between both sides: logistic, softmax or exponential."""
    for one in _LINKS:
        if one.function is _softmax and trial.expected.shape[1] < 2:
            continue
        given, other = trial.compared, trial.expected
        if one.of_expected:
            given, other = other, given
        rounding = rounding_of(other, trial.largest_score)
        if len(np.unique(other)) < _FEWEST_VALUES or not varies(other, rounding).any():
            continue
        with np.errstate(all="ignore"):
            linked = one.function(given)
        agreeing = agree(linked, other, rounding)
        message = f"The expected predictions are {one.meaning}."
        if cause := trial.cause(CauseKind.LINK, agreeing, message):
            return cause
    return None


def factor_or_constant(trial: CauseTrial) -> LikelyCause | None:
    """Find a factor and a constant for each output, by least squares."""
    fitted, parts = np.empty_like(trial.expected), []
    for k in range(trial.expected.shape[1]):
        predicted, expected = trial.compared[:, k], trial.expected[:, k]
        is_finite = np.isfinite(predicted) & np.isfinite(expected)
        if len(np.unique(predicted[is_finite])) < _FITTED_ROWS:
            return None
        factor, constant = np.polyfit(predicted[is_finite], expected[is_finite], 1)
        fitted[:, k] = factor * predicted + constant
        if not varies(fitted[:, [k]], trial.rounding[[k]]).all():
            return None  # a factor of 0 fits any constant
        name = trial.output_names[trial.outputs[k]]
        parts.append(f"{factor:.6g} × {name!r} + {constant:.6g}".replace("+ -", "- "))
    message = (
        f"The expected predictions are the model's times a factor, plus a constant: "
        f"{listed(tuple(parts), 4)}. Trees without their base score, or a mean in place of a sum, "
        "differ so, and so does a target that was scaled in training."
    )
    return trial.cause(CauseKind.FACTOR_OR_CONSTANT, trial.agreeing(fitted), message)
