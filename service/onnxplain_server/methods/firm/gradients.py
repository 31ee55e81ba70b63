"""Gradients and weights of a model, from predictions at points around the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import listed
from onnxplain_server.effects.background import unmerged
from onnxplain_server.effects.engine import Effects

_STEP = 0.05
"""Step of a central difference, in standard deviations: two of them, extrapolated."""
_LEAST = 1_000.0
"""Deviation of a column from which steps have three digits, in units of its mean's rounding."""
_SPAN = 2.0
"""The same for models that are linear, where a long one loses least to rounding."""
_LINEAR = 1e-4
"""Residual of a linear model, as a share of the score's standard deviation."""


def check_smooth(effects: Effects, why: str, path: str) -> None:
    """Refuse columns along which there is no derivative.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    features = effects.background.features
    wrong = tuple(
        name
        for j, name in enumerate(features.names)
        if features.dtypes[j].kind != "f" or not np.isfinite(features.columns[j]).all()
    )
    if wrong:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{why} needs columns of numbers that may have fractions, none missing; the model "
            f"takes others: {listed(wrong)}",
            path,
        )


def moments_of(effects: Effects) -> tuple[Vector, Vector]:
    """Give the means and standard deviations of the model's columns: (n_features,) each."""
    weights, columns = effects.background.weights, effects.background.features.columns
    means = np.array([np.average(column, weights=weights) for column in columns])
    deviations = [
        np.sqrt(np.average((column - mean) ** 2, weights=weights))
        for column, mean in zip(columns, means, strict=True)
    ]
    return means, np.array(deviations)


def gradient_cost(effects: Effects) -> int:
    """Rows that `gradient_at_mean` predicts; `weights` half of it."""
    return 4 * len(effects.background.features.names)


def gradient_at_mean(effects: Effects) -> Matrix:
    """Gradient of the outputs at the mean of the rows: (n_features, n_outputs).

    Central differences of two steps, extrapolated: the error falls with the fourth power of
    the step.
    """
    means, deviations = moments_of(effects)
    steps = _STEP * _filled(effects, means, deviations)
    near, far = (_differences(effects, means, factor * steps) for factor in (1.0, 2.0))
    extrapolated: Matrix = (4 * near - far) / 3
    return extrapolated


def weights(effects: Effects, path: str) -> Matrix:
    """Weights of a linear model: (n_features, n_outputs).

    Raises
    ------
    ExplainError
        INVALID_OPTION where the model is not linear on the rows.
    """
    means, deviations = moments_of(effects)
    found = _differences(effects, means, _SPAN * _filled(effects, means, deviations))
    scores = effects.outputs()
    shares = effects.background.weights / effects.background.weights.sum()
    rows = np.stack(effects.background.columns, axis=1).astype(np.float64)
    left = scores - rows @ found
    left = np.abs(left - shares @ left).max(axis=0)
    spread = np.sqrt(shares @ (scores - shares @ scores) ** 2)
    rounding = 4 * _digits(effects).max() * np.abs(scores).max(axis=0)
    if (left > np.maximum(_LINEAR * spread, rounding)).any():
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the model is not linear in its columns, as this needs; ask for TAYLOR or BINNED",
            path,
        )
    return found


def root_mean_squares(effects: Effects, features: Sequence[int]) -> Matrix:
    """Root of the mean squared derivative at the rows: (n_asked, n_outputs).

    Predicts each row twice for each feature.
    """
    background = effects.background
    shares = background.weights / background.weights.sum()
    means, deviations = moments_of(effects)
    steps = _STEP * _filled(effects, means, deviations)
    found = []
    for j in features:
        ahead, behind = (_moved(effects, j, sign * steps[j]) for sign in (1.0, -1.0))
        apart = ahead[0] - behind[0]
        found.append(np.sqrt(shares @ ((ahead[1] - behind[1]) / apart[:, None]) ** 2))
    return np.array(found)


def _moved(effects: Effects, feature: int, step: float) -> tuple[Vector, Matrix]:
    """Predict the rows with a feature moved: its values as the model has them, and outputs."""
    columns = list(effects.background.features.columns)
    columns[feature] = columns[feature] + step
    return _predict(effects, columns, feature)


def _differences(effects: Effects, means: Vector, steps: Vector) -> Matrix:
    """Central differences at a point, one feature after the other: (n_features, n_outputs)."""
    count = len(means)
    points = np.concatenate([means + np.diag(steps), means - np.diag(steps)])
    features = replace(effects.background.features, columns=tuple(points.T))
    background = unmerged(features, np.ones(2 * count), np.arange(2 * count))
    outputs = effects.restrict(background).outputs()
    each = np.arange(count)
    # As the model has them: its type may hold fewer digits.
    held = np.stack(background.columns, axis=1).astype(np.float64)
    apart = held[each, each] - held[count + each, each]
    differences: Matrix = (outputs[:count] - outputs[count:]) / apart[:, None]
    return differences


def _predict(effects: Effects, columns: Sequence[Array], feature: int) -> tuple[Vector, Matrix]:
    background = effects.background
    features = replace(background.features, columns=tuple(columns))
    moved = unmerged(features, background.weights, background.source)
    return moved.columns[feature].astype(np.float64), effects.restrict(moved).outputs()


def _filled(effects: Effects, means: Vector, deviations: Vector) -> Vector:
    """Put a scale of their own in place of deviations that the model's types cannot tell from 0."""
    least = _LEAST * _digits(effects) * np.abs(means)
    return np.where(deviations > least, deviations, np.maximum(np.abs(means), 1.0))


def _digits(effects: Effects) -> Vector:
    """Relative rounding of the model's columns: (n_features,)."""
    return np.array([np.finfo(column.dtype).eps for column in effects.background.columns])
