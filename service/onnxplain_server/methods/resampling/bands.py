"""Bands of curves and surfaces: intervals of each point, and one that holds all points at once.

The simultaneous band is the sup-t band: every point reaches as many of its own standard errors to
both sides, so many that a share `level` of the replicates stays within at all points,

    c  =  quantile of  max over points of |θ* − mean θ*| / s   over the replicates θ*.

Its coverage is about right where pointwise intervals are, as it is the same normal approximation,
for the vector of all points in place of one.

Montiel Olea and Plagborg-Møller (2019), "Simultaneous confidence bands: Theory, implementation,
and an application to SVARs", Journal of Applied Econometrics 34(1), 1-17, algorithm 2.
doi:10.1002/jae.2656
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.resampling.spread import t_quantile

_ROUNDING = 1e-12
"""Deviations up to this share of the largest value are rounding, of points without any spread."""


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Spread of a curve or surface; each (n_points, n_outputs), NaN below two replicates.

    Attributes
    ----------
    standard_errors : array
    lower, upper : array
        Intervals, each point by itself.
    simultaneous_lower, simultaneous_upper : array
        Ends of the band that holds all points of an output at once.
    """

    standard_errors: Matrix
    lower: Matrix
    upper: Matrix
    simultaneous_lower: Matrix
    simultaneous_upper: Matrix


class Deviations:
    """Deviations of the replicates of a curve from their mean, points by points."""

    def __init__(self) -> None:
        self._errors: list[Matrix] = []
        self._largest: Matrix | None = None

    def add(self, deviations: Array, magnitude: Vector) -> None:
        """Add the next points.

        Parameters
        ----------
        deviations : (n_replicates, n_points, n_outputs)
            NaN throughout a replicate that has no rows.
        magnitude : (n_outputs,)
            Largest absolute value of each output, in whose roundings nothing is seen.
        """
        known = deviations[~np.isnan(deviations).any(axis=(1, 2))]
        if len(known) < 2:
            self._errors.append(np.full(deviations.shape[1:], np.nan))
            self._largest = np.zeros((0, deviations.shape[2]))
            return
        errors = known.std(axis=0, ddof=1)
        errors[errors <= _ROUNDING * magnitude] = 0.0
        ratios = np.zeros_like(known)
        np.divide(np.abs(known), errors, out=ratios, where=errors > 0)
        own = ratios.max(axis=1, initial=0.0)
        self._largest = own if self._largest is None else np.maximum(self._largest, own)
        self._errors.append(errors)

    def band(self, values: Matrix, level: float, unit_count: float) -> Band:
        """Return the band around values of all points that were added.

        Parameters
        ----------
        values : (n_points, n_outputs)
        level : float
            In (0, 1): of each interval, and of the band as a whole.
        unit_count : float
            Effective number of rows, or clusters, that are resampled.
        """
        errors, largest = np.concatenate(self._errors), self._largest
        if largest is None or len(largest) < 2:
            unknown = np.full_like(values, np.nan)
            return Band(unknown, unknown, unknown, unknown, unknown)
        single = t_quantile(level, unit_count, len(largest))
        # As Student's t widens an interval, it widens the band.
        heavier = single / NormalDist().inv_cdf((1 + level) / 2)
        whole = np.maximum(heavier * np.quantile(largest, level, axis=0), single)
        reach, wide = single * errors, whole * errors
        return Band(errors, values - reach, values + reach, values - wide, values + wide)
