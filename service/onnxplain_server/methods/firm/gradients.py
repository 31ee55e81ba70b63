"""Numerical gradients: central differences of predictions at the mean or at the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector, unit_of_squares
from onnxplain_server.core.columns import Columns
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import listed
from onnxplain_server.effects.background import unmerged
from onnxplain_server.effects.engine import Effects

_STEP = 0.05
"""Step of a central difference, in standard deviations; a second step of twice it extrapolates."""
_LINEAR_STEP = 2.0
"""The same for linear models, where long steps lose least to rounding."""
_MIN_DEVIATION = 1_000.0
"""Least deviation of a column for steps of three digits, in units of its mean's rounding."""
_LINEAR_TOLERANCE = 1e-4
"""Largest residual of a linear model, as a share of the score's standard deviation."""


def check_smooth(effects: Effects, option: str, path: str) -> None:
    """Reject columns without a derivative: integers, text, or missing values.

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
            f"{option} needs floating-point columns, none missing; the model takes others: "
            f"{listed(wrong)}",
            path,
        )


def moments_of(effects: Effects) -> tuple[Vector, Vector]:
    """Return the means and standard deviations of the model's columns: (n_features,) each."""
    weights, columns = effects.background.weights, effects.background.features.columns
    units = [float(unit_of_squares(column)) for column in columns]
    scaled = [column / unit for column, unit in zip(columns, units, strict=True)]
    means = np.array([np.average(column, weights=weights) for column in scaled])
    deviations = [
        np.sqrt(np.average((column - mean) ** 2, weights=weights))
        for column, mean in zip(scaled, means, strict=True)
    ]
    return means * units, np.array(deviations) * units


def gradient_cost(effects: Effects) -> int:
    """Return the number of rows that `gradient_at_mean` predicts; `weights` needs half of it."""
    return 4 * len(effects.background.features.names)


def gradient_at_mean(effects: Effects) -> Matrix:
    """Return the gradient of the outputs at the mean of the rows: (n_features, n_outputs).

    Richardson extrapolation of central differences with two steps: the error falls with the
    fourth power of the step.
    """
    means, deviations = moments_of(effects)
    steps = _STEP * _usable_deviations(effects, means, deviations)
    near, far = (_differences(effects, means, factor * steps) for factor in (1.0, 2.0))
    extrapolated: Matrix = (4 * near - far) / 3
    return extrapolated


def weights(effects: Effects, path: str) -> Matrix:
    """Return the weights of a linear model: (n_features, n_outputs).

    Raises
    ------
    ExplainError
        INVALID_OPTION if the model is not linear on the rows.
    """
    means, deviations = moments_of(effects)
    slopes = _differences(
        effects, means, _LINEAR_STEP * _usable_deviations(effects, means, deviations)
    )
    scores = effects.outputs()
    shares = effects.background.weights / effects.background.weights.sum()
    rows = np.stack(effects.background.columns, axis=1).astype(np.float64)
    residuals = scores - rows @ slopes
    residual = np.abs(residuals - shares @ residuals).max(axis=0)
    unit = unit_of_squares(scores)
    spread = unit * np.sqrt(shares @ ((scores - shares @ scores) / unit) ** 2)
    rounding = 4 * _epsilons(effects).max() * np.abs(scores).max(axis=0)
    if (residual > np.maximum(_LINEAR_TOLERANCE * spread, rounding)).any():
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the model is not linear in its columns, as required here; use TAYLOR or BINNED",
            path,
        )
    return slopes


def root_mean_squares(effects: Effects, features: Sequence[int]) -> Matrix:
    """Return the root mean squared derivative at the rows: (len(features), n_outputs).

    Predicts each row twice for each feature.
    """
    background = effects.background
    shares = background.weights / background.weights.sum()
    means, deviations = moments_of(effects)
    steps = _STEP * _usable_deviations(effects, means, deviations)
    roots = []
    for j in features:
        ahead, behind = (_moved(effects, j, sign * steps[j]) for sign in (1.0, -1.0))
        distance = ahead[0] - behind[0]
        roots.append(np.sqrt(shares @ ((ahead[1] - behind[1]) / distance[:, None]) ** 2))
    return np.array(roots)


def _moved(effects: Effects, feature: int, step: float) -> tuple[Vector, Matrix]:
    """Predict the rows with a feature moved: its values in the model's precision, and outputs."""
    features = effects.background.features
    columns = list(features.stored)
    largest = float(np.finfo(effects.background.columns[feature].dtype).max)
    with np.errstate(over="ignore"):
        moved = features.columns[feature] + step
    columns[feature] = np.clip(moved, -largest, largest)
    return _predict(effects, columns, feature)


def _differences(effects: Effects, means: Vector, steps: Vector) -> Matrix:
    """Return central differences at a point, per feature: (n_features, n_outputs)."""
    count = len(means)
    with np.errstate(over="ignore"):
        points = np.concatenate([means + np.diag(steps), means - np.diag(steps)])
    largest = [np.finfo(column.dtype).max for column in effects.background.columns]
    points = np.clip(points, np.negative(largest), largest)
    features = replace(effects.background.features, columns=tuple(points.T))
    background = unmerged(features, np.ones(2 * count), np.arange(2 * count))
    outputs = effects.restrict(background).outputs()
    diagonal = np.arange(count)
    # The model's type may have fewer digits than the points.
    rounded = np.stack(background.columns, axis=1).astype(np.float64)
    # Halves: a difference of numbers at the ends of float64 exceeds it.
    distances = rounded[diagonal, diagonal] / 2 - rounded[count + diagonal, diagonal] / 2
    differences: Matrix = (outputs[:count] / 2 - outputs[count:] / 2) / distances[:, None]
    return differences


def _predict(effects: Effects, columns: Sequence[Array], feature: int) -> tuple[Vector, Matrix]:
    background = effects.background
    features = replace(background.features, columns=Columns(columns))
    moved = unmerged(features, background.weights, background.source)
    return moved.columns[feature].astype(np.float64), effects.restrict(moved).outputs()


def _usable_deviations(effects: Effects, means: Vector, deviations: Vector) -> Vector:
    """Replace deviations too small for the model's types by the size of the mean, at least 1."""
    least = _MIN_DEVIATION * _epsilons(effects) * np.abs(means)
    return np.where(deviations > least, deviations, np.maximum(np.abs(means), 1.0))


def _epsilons(effects: Effects) -> Vector:
    """Return the machine epsilon of each of the model's columns: (n_features,)."""
    return np.array([np.finfo(column.dtype).eps for column in effects.background.columns])
