"""Interpolation between knots: detection of statistics with large interpolation errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from onnxplain_server.core.arrays import Vector

_LARGE = 0.1
"""Relative error of a numerator, beyond which it is reported."""

_NEGLIGIBLE = 1e-4
"""Share of the denominator up to which errors are not reported."""


class Approximated(Protocol):
    """Statistic with an interpolation error; arrays are (n_outputs,)."""

    @property
    def features(self) -> tuple[str, ...]:
        """Empty for the total."""

    @property
    def numerators(self) -> Vector:
        """Mean squares."""

    @property
    def denominators(self) -> Vector:
        """Mean squares."""

    @property
    def numerator_errors(self) -> Vector | None:
        """Errors of the numerators; None without interpolation."""


def doubtful(statistics: Iterator[Approximated]) -> tuple[str, ...]:
    """List the statistics with a large relative error: "total", "a", "a:b", ..."""
    return tuple(
        dict.fromkeys(":".join(s.features) or "total" for s in statistics if _is_doubtful(s))
    )


def _is_doubtful(statistic: Approximated) -> bool:
    errors = statistic.numerator_errors
    if errors is None:
        return False
    large = errors > np.maximum(_LARGE * statistic.numerators, _NEGLIGIBLE * statistic.denominators)
    return bool(large.any())
