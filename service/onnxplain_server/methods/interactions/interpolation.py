"""Interpolation between knots, as an option: what it excludes, and where it is too coarse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from onnxplain_server.core.arrays import Vector

_LARGE = 0.1
"""Share of a numerator from which on its error is told."""

_SEEN = 1e-4
"""Share of the denominator up to which a numerator counts as nothing, whatever its error."""


class Approximated(Protocol):
    """A statistic, as far as its error is concerned; arrays are (n_outputs,)."""

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
        """Of the numerators; None where nothing is interpolated."""


def doubtful(statistics: Iterator[Approximated]) -> tuple[str, ...]:
    """Name the statistics whose error is large beside their value: "total", "a", "a:b", ..."""
    return tuple(
        dict.fromkeys(":".join(s.features) or "total" for s in statistics if _is_doubtful(s))
    )


def _is_doubtful(statistic: Approximated) -> bool:
    errors = statistic.numerator_errors
    if errors is None:
        return False
    large = errors > np.maximum(_LARGE * statistic.numerators, _SEEN * statistic.denominators)
    return bool(large.any())
