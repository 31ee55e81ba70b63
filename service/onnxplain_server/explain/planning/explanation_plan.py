"""Plan of an explanation as values: of each method, and of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from onnxplain_server.explain.planning.savings import Saving
from onnxplain_server.explain.question import Engine
from onnxplain_server.methods.registry import Options

_REQUEST_SECONDS = 0.003
"""Reading a request, binding its table, and writing the receipt."""
_SPREAD = 2.0
"""Factor between the estimated time and either end of its interval."""


class Interval(NamedTuple):
    """Seconds that something takes: likely between `low` and `high`."""

    low: float
    high: float


def _around(seconds: float) -> Interval:
    return Interval(seconds / _SPREAD, seconds * _SPREAD)


@dataclass(frozen=True, slots=True, eq=False)
class MethodPlan:
    """Plan of one method of a request.

    Attributes
    ----------
    name : str
    options : Options
        After defaults.
    engine : Engine or None
        None where no effects are computed.
    engine_reason : str
    row_count : int
        Rows of the table that it uses; 0 if it needs none.
    predicted_row_count, cached_row_count : int
        Rows to predict, and rows whose predictions the cache has.
    is_exact : bool
        Whether `predicted_row_count` is exact; otherwise it is an upper bound.
    prediction_seconds, other_seconds : float
        Estimates: of predictions, and of all else.
    answer_bytes : int or None
        None where it is unknown.
    """

    name: str
    options: Options
    engine: Engine | None
    engine_reason: str
    row_count: int
    predicted_row_count: int
    cached_row_count: int
    is_exact: bool
    prediction_seconds: float
    other_seconds: float
    answer_bytes: int | None

    @property
    def seconds(self) -> float:
        """Estimate of the whole."""
        return self.prediction_seconds + self.other_seconds

    @property
    def interval(self) -> Interval:
        """Interval that the time likely lies in."""
        return _around(self.seconds)


@dataclass(frozen=True, slots=True, eq=False)
class ExplanationPlan:
    """Plan of a request.

    Attributes
    ----------
    methods : tuple of MethodPlan
    memory_bytes : int
        Peak of the arrays of the computation, beside model and libraries.
    savings : tuple of Saving
    """

    methods: tuple[MethodPlan, ...]
    memory_bytes: int
    savings: tuple[Saving, ...]

    @property
    def seconds(self) -> Interval:
        """Time of the computation."""
        return _around(_REQUEST_SECONDS + sum(method.seconds for method in self.methods))

    @property
    def answer_bytes(self) -> int | None:
        """Size of all explanations; None if that of one is unknown."""
        sizes = [method.answer_bytes for method in self.methods]
        return None if None in sizes else sum(filter(None, sizes))
