"""Seconds of methods whose time grows with their repetitions, and not with the rows drawn."""

from __future__ import annotations

import time
from collections.abc import Sequence

from onnxplain_server.explain.planning.sized_methods import Size, SizedMethods
from onnxplain_server.explain.prepared_method import PreparedMethod
from onnxplain_server.explain.registry import preparation_of

_MEASURING_SHARE = 0.12
"""Share of the time that a measurement takes at most, but for that of the fewest repetitions."""


class RepetitionSeconds:
    """Seconds of the methods of a request that trials on few rows cannot tell.

    They are those that measure themselves (`Preparation.seconds`), and of which a budget saves
    repetitions. The fewest repetitions are timed first; time grows with repetitions at most.

    Parameters
    ----------
    methods : SizedMethods
    budget : float
        Seconds for measurements and methods.
    """

    def __init__(self, methods: SizedMethods, budget: float) -> None:
        self._methods = methods
        self._budget = budget
        self._measured: dict[int, float] = {}
        self._spent = 0.0

    def are_of(self, method: PreparedMethod) -> bool:
        """Return whether the time of a method is told here."""
        if method.job.repetition_count is None or method.request.choice is None:
            return False
        own = preparation_of(method.job.options)
        return not method.predicted_row_count and bool(own.repetitions(method.job))

    def at(self, size: Size) -> float:
        """Return the seconds of these methods after the savings of a size."""
        step = size.saving_step
        if step not in self._measured:
            self._measured[step] = self._seconds(step)
        return self._measured[step]

    def _seconds(self, step: int) -> float:
        told, last = self._told(step), self._methods.saving_steps
        if not told:
            return 0.0
        if step == last:
            start = time.perf_counter()
            seconds = _seconds(told)
            self._spent = time.perf_counter() - start
            return seconds
        fewest = self.at(Size(self._methods.row_count, last))
        ratio = _repetition_count(told) / max(_repetition_count(self._told(last)), 1)
        if ratio * self._spent > _MEASURING_SHARE * self._budget:
            return ratio * fewest
        return _seconds(told)

    def _told(self, step: int) -> list[PreparedMethod]:
        prepared = self._methods.at(Size(self._methods.row_count, step), is_trial=True)
        return [method for method in prepared if self.are_of(method)]


def _seconds(methods: Sequence[PreparedMethod]) -> float:
    return sum(
        preparation_of(method.job.options).seconds(method.request, method.job) or 0.0
        for method in methods
    )


def _repetition_count(methods: Sequence[PreparedMethod]) -> int:
    return sum(method.job.repetition_count or 0 for method in methods)
