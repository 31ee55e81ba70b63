"""Contrast measures of single columns: alternatives to FIRM, for comparison.

Greenwell, Boehmke and McCarthy (2018), "A Simple and Effective Model-Based Variable Importance
Measure", arXiv:1805.04755. Friedman (2001), "Greedy Function Approximation: A Gradient Boosting
Machine", Annals of Statistics 29(5), 1189-1232.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.effects.engine import Effects
from onnxplain_server.methods import partial_dependence
from onnxplain_server.methods.firm import gradients
from onnxplain_server.methods.firm.options import Contrast, Estimator, Options
from onnxplain_server.methods.firm.result import ContrastImportance
from onnxplain_server.methods.grids import lay_grids
from onnxplain_server.methods.partial_dependence import RowGroup, Strategy


def wants_gradient(options: Options) -> str:
    """Return the name of an option that needs derivatives; empty if none does."""
    closed = {Estimator.GAUSSIAN, Estimator.TAYLOR} & {options.estimator}
    contrasts = {Contrast.SENSITIVITY, Contrast.WEIGHT} & set(options.contrasts)
    return next((option.value for option in (*closed, *contrasts)), "")


def cost(effects: Effects, features: Sequence[str], options: Options) -> int:
    """Return an upper bound of the number of rows to predict."""
    n, count = len(effects.background), len(features)
    costs = {
        Contrast.PARTIAL_DEPENDENCE: partial_dependence.Options().grid_size * n * count,
        Contrast.SENSITIVITY: 2 * n * count,
        Contrast.WEIGHT: n + gradients.gradient_cost(effects),
    }
    return sum(costs[contrast] for contrast in options.contrasts)


def compare(
    effects: Effects, features: Sequence[str], options: Options, path: str
) -> tuple[ContrastImportance, ...]:
    """Compute the requested measures, each for all columns.

    Parameters
    ----------
    effects : Effects
        Its background has the rows to average over.
    features : sequence of str
        Columns that the model takes.
    """
    if not features:
        return ()
    importances = []
    for contrast in options.contrasts:
        values = _measure(effects, features, contrast, path)
        pairs = zip(features, values, strict=True)
        importances += [ContrastImportance(contrast, feature, row) for feature, row in pairs]
    return tuple(importances)


def _measure(effects: Effects, features: Sequence[str], contrast: Contrast, path: str) -> Matrix:
    """Compute one measure: (n_columns, n_outputs)."""
    positions = [effects.background.features.index(name) for name in features]
    match contrast:
        case Contrast.PARTIAL_DEPENDENCE:
            return _dependence_spread(effects, features, path)
        case Contrast.SENSITIVITY:
            deviations = gradients.moments_of(effects)[1][positions]
            derivatives = gradients.root_mean_squares(effects, positions)
            sensitivities: Matrix = derivatives * deviations[:, None]
            return sensitivities
        case Contrast.WEIGHT:
            return gradients.weights(effects, f"{path}.contrasts")[positions]


def _dependence_spread(effects: Effects, features: Sequence[str], path: str) -> Matrix:
    """Compute the spread of partial dependence over a grid, each point with equal weight."""
    options = partial_dependence.Options(
        features=tuple((name,) for name in features), strategy=Strategy.QUANTILE
    )
    options = partial_dependence.resolve(options, effects.background.features.names, path)
    points = lay_grids(effects, effects.background.features, options, path)
    curves = partial_dependence.compute(
        effects, options, points, [RowGroup("", effects.background)]
    ).curves
    return np.array(
        [
            np.ptp(curve.values, axis=0) / 4
            if curve.grid[0].dtype == object
            else curve.values.std(axis=0, ddof=1)
            if len(curve.values) > 1
            else np.zeros(curve.values.shape[1])
            for curve in curves
        ]
    )
