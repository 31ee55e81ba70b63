"""Intervals for averages over all rows of a draw, from a random sample of these rows.

The sample is drawn without replacement, so that the rows outside of it alone are unknown: variances
shrink by the finite population correction. Cochran (1977), "Sampling Techniques", section 2.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.methods.resampling import effective_row_count, t_quantile

LEVEL = 0.9
"""Confidence level of intervals from a sample, where the request has none."""


@dataclass(frozen=True, slots=True)
class SampledRows:
    """Sample of the rows of a draw.

    Attributes
    ----------
    whole_count : int
        Rows of the draw.
    confidence_level : float
        In (0, 1).
    """

    whole_count: int
    confidence_level: float

    def missing_share(self, count: int) -> float:
        """Return the share of the rows that a sample of `count` rows does not have."""
        return max(0.0, 1 - count / self.whole_count)

    def reach(self, variances: Array, weights: Array) -> Array:
        """Return half the width of intervals, from variances: of their shape.

        Parameters
        ----------
        weights : (n_rows,)
            Of the sample.
        """
        count = effective_row_count(weights)
        quantile = t_quantile(self.confidence_level, count, len(weights))
        reach: Array = quantile * np.sqrt(variances)
        return reach


def mean_variances(influences: Array) -> Array:
    """Return the variance of a mean over rows, of an infinite population: (...).

    Parameters
    ----------
    influences : (n_rows, ...)
        What each row adds to the mean, times the number of rows.
    """
    variances: Array = influences.var(axis=0, ddof=1) / len(influences)
    return variances
