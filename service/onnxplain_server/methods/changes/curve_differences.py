"""Differences of curves: a simultaneous band, and one test of the whole curve.

The band is the sup-t band of `resampling.bands`. The test takes the largest difference of a curve
in standard errors, x. The band's reach c, which that of a share `level` of the replicates does not
exceed, tells how many independent points the curve is worth, m, by level = (1 - p(c))^m, where p is
the two-sided tail of Student's t. The p-value is 1 - (1 - p(x))^m: less than 1 - level where the
band leaves 0 out somewhere, and only there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.methods.changes.differences import ReplicatedDifference, ratios, tail
from onnxplain_server.methods.resampling import Band, Deviations


@dataclass(frozen=True, slots=True, eq=False)
class CurveTest:
    """Band around the difference of a curve, and p-value of the whole: (n_outputs,)."""

    band: Band
    p_values: Vector


def compare_curves(found: ReplicatedDifference, level: float) -> CurveTest:
    """Put a band around the difference of a curve, and test it."""
    deviations = Deviations()
    # Independent sides: deviations of pairs drawn at random, of the standard error of both.
    own = found.deviations.std(axis=0, ddof=1) if len(found.deviations) > 1 else 1.0
    scale = np.divide(
        found.standard_errors, own, out=np.ones_like(found.standard_errors), where=own > 0
    )
    deviations.add(found.deviations * scale, found.magnitude)
    band = deviations.band(found.values, level, found.unit_count)
    sizes = ratios(found)
    tested = [
        _p_value(sizes[:, k], band.standard_errors[:, k], reach, level, found.degrees)
        for k, reach in enumerate((band.simultaneous_upper - found.values).T)
    ]
    return CurveTest(band, np.array(tested))


def _p_value(sizes: Vector, errors: Vector, reach: Vector, level: float, degrees: float) -> float:
    """Return the p-value of one curve from its differences in standard errors: (n_points,)."""
    if np.isnan(sizes).any():
        return float("nan")
    largest = sizes.max()
    varied = errors > 0
    if not varied.any() or np.isinf(largest):
        return 0.0 if largest > 0 else 1.0
    single = tail(np.array([(reach[varied] / errors[varied]).max(), largest]), degrees)
    worth = np.log(level) / np.log1p(-single[0])
    return float(-np.expm1(worth * np.log1p(-min(single[1], 1 - 1e-16))))
