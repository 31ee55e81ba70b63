"""Corrections of p-values for many tests.

Holm (1979), "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of
Statistics 6(2), 65-70.

Benjamini and Hochberg (1995), "Controlling the False Discovery Rate: A Practical and Powerful
Approach to Multiple Testing", Journal of the Royal Statistical Society B 57(1), 289-300.
doi:10.1111/j.2517-6161.1995.tb02031.x
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.core.contract_limits import ComparisonOptions

Correction: TypeAlias = ComparisonOptions.Correction
"""Correction of p-values."""


def adjusted(p_values: Vector, correction: Correction) -> Vector:
    """Return p-values adjusted for their number, (n,), at most 1; those that are NaN count as none.

    One that is at most an error is CHANGED at it.
    """
    known = np.flatnonzero(~np.isnan(p_values))
    result = np.full_like(p_values, np.nan)
    order = known[np.argsort(p_values[known], kind="stable")]
    ascending, count = p_values[order], len(order)
    match correction:
        case Correction.HOLM:
            result[order] = np.maximum.accumulate(ascending * (count - np.arange(count)))
        case Correction.BENJAMINI_HOCHBERG:
            scaled = ascending * count / (np.arange(count) + 1)
            result[order] = np.minimum.accumulate(scaled[::-1])[::-1]
        case Correction.NONE:
            result[order] = ascending
    return np.minimum(result, 1)
