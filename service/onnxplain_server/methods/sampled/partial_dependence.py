"""Partial dependence on a sample of the rows, with intervals of the curves on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.effects.engine import Effects
from onnxplain_server.effects.grids import rows_near, sample_values
from onnxplain_server.methods.partial_dependence import (
    Options,
    PartialDependenceCurve,
    Result,
)
from onnxplain_server.methods.sampled.intervals import SampledRows, mean_variances


def compute(
    effects: Effects, options: Options, points: Sequence[tuple[Array, ...]], sample: SampledRows
) -> Result:
    """Average the curves of single rows, whose spread tells the intervals.

    Parameters
    ----------
    effects : Effects
        Of the rows of the sample, without merged duplicates.
    points : one grid per entry of `options.features`
    """
    features, weights = effects.background.features, effects.background.weights
    curves = []
    for names, grid, is_stepped in zip(options.features, points, options.are_stepped, strict=True):
        positions = [features.index(name) for name in names]
        cast = [features.cast(j, values) for j, values in zip(positions, grid, strict=True)]
        near = rows_near(effects.background, names, grid, is_stepped=is_stepped)
        # Rows that are equal but for what is moved are predicted once.
        merged, inverse = effects.background.merge_ignoring(positions)
        individual = effects.restrict(merged).individual(positions, cast)[inverse]
        curves.append(
            replace(
                _curve(individual, weights, sample),
                features=names,
                grid=grid,
                weight=effects.background.weight(),
                is_stepped=is_stepped,
                row_weights=effects.background.case_weights(near),
            )
        )
    varied = {name for names in options.features for name in names}
    return Result(effects.output_names, tuple(curves), sample_values(features, varied))


def _curve(individual: Array, weights: Array, sample: SampledRows) -> PartialDependenceCurve:
    """Average (n_rows, n_points, n_outputs) over rows, without names and grid."""
    count, shares = len(weights), weights / weights.sum()
    values = np.einsum("i,ijk->jk", shares, individual)
    influences = count * shares[:, None, None] * (individual - values)
    reach = sample.reach(sample.missing_share(count) * mean_variances(influences), weights)
    return PartialDependenceCurve(
        (), "", (), values, 0.0, lower=values - reach, upper=values + reach
    )
