"""Measures of single columns that are not this method's, to be set beside it.

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
    """Name what of the options needs derivatives; empty where nothing does."""
    closed = {Estimator.GAUSSIAN, Estimator.TAYLOR} & {options.estimator}
    contrasts = {Contrast.SENSITIVITY, Contrast.WEIGHT} & set(options.contrasts)
    return next((wanted.value for wanted in (*closed, *contrasts)), "")


def cost(effects: Effects, features: Sequence[str], options: Options) -> int:
    """Return an upper bound of the rows to predict."""
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
    """Compute the measures asked for, each of all columns.

    Parameters
    ----------
    effects : Effects
        On the rows to average over.
    features : sequence of str
        Columns that the model takes.
    """
    if not features:
        return ()
    found = []
    for contrast in options.contrasts:
        values = _measure(effects, features, contrast, path)
        pairs = zip(features, values, strict=True)
        found += [ContrastImportance(contrast, feature, row) for feature, row in pairs]
    return tuple(found)


def _measure(effects: Effects, features: Sequence[str], contrast: Contrast, path: str) -> Matrix:
    """Compute one measure: (n_asked, n_outputs)."""
    positions = [effects.background.features.index(name) for name in features]
    match contrast:
        case Contrast.PARTIAL_DEPENDENCE:
            return _dependence(effects, features, path)
        case Contrast.SENSITIVITY:
            deviations = gradients.moments_of(effects)[1][positions]
            found: Matrix = gradients.root_mean_squares(effects, positions) * deviations[:, None]
            return found
        case Contrast.WEIGHT:
            return gradients.weights(effects, f"{path}.contrasts")[positions]


def _dependence(effects: Effects, features: Sequence[str], path: str) -> Matrix:
    """Spread of the partial dependence over a grid, whatever number of rows is near a point."""
    asked = partial_dependence.Options(
        features=tuple((name,) for name in features), strategy=Strategy.QUANTILE
    )
    asked = partial_dependence.resolve(asked, effects.background.features.names, path)
    points = lay_grids(effects, effects.background.features, asked, path)
    curves = partial_dependence.compute(
        effects, asked, points, [RowGroup("", effects.background)]
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
