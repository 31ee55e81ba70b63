"""Rehearsal of a method: which rows it would predict, by its own code, with no call of the model.

Numbers that the cache has are read, numbers that are made up never reach it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import ComputationHost
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.question import Engine
from onnxplain_server.explain.registry import Rehearsing, preparation_of
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods.registry import Options, Result

_CANCELLING = {Reason.CANCELLED, Reason.DEADLINE_EXCEEDED}
_SEARCH_SECONDS = 0.15
"""Searches that may take less together are run: the weights that they try depend on predictions."""


class RehearsalEnded(Exception):  # noqa: N818 - a signal
    """All is known that the rehearsal was for, or its time is over."""


class RehearsalHost:
    """`ComputationHost` that reads the cache of another one, and keeps what is written to itself.

    Parameters
    ----------
    host : ComputationHost
        Can cancel the rehearsal; progress is not reported to it.

    Attributes
    ----------
    done, planned : float
        Rows that were predicted or found in the cache, and those planned.
    deadline : float
        Monotonic time at which the rehearsal is ended.
    ends_when_spent : bool
        Whether it is ended once all planned rows are done.
    ends_at_miss : bool
        Whether it is ended once a number is not in the cache.
    search_seconds : float
        What is left for searches that are run.
    """

    def __init__(self, host: ComputationHost) -> None:
        self._host = host
        self._entries: dict[str, bytes] = {}
        self.done = 0.0
        self.planned = 0.0
        self.deadline = float("inf")
        self.ends_when_spent = False
        self.ends_at_miss = False
        self.search_seconds = _SEARCH_SECONDS

    def advance(self, done: float, planned: float) -> None:
        """End the rehearsal when it is time to."""
        self._host.advance(0, 0)
        self.done, self.planned = done, planned
        is_spent = self.ends_when_spent and done >= planned > 0
        if is_spent or time.monotonic() > self.deadline:
            raise RehearsalEnded

    def single_flight(self, _name: str) -> AbstractContextManager[bool]:
        """Never wait."""
        return nullcontext(True)

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """Return the numbers made up here, or else those of the other host."""
        missing = [name for name in names if name not in self._entries]
        found = dict(zip(missing, self._host.cache_get(missing) if missing else (), strict=True))
        if self.ends_at_miss and None in found.values():
            raise RehearsalEnded
        return [self._entries.get(name) or found.get(name) for name in names]

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        """Keep numbers for this rehearsal."""
        self._entries.update(entries)


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsal:
    """A method of a request without the predictions.

    Attributes
    ----------
    job : Job
    predicted, cached : int
        Rows to predict, and rows whose predictions the cache has.
    is_exact : bool
        Whether `predicted` is exact; otherwise, it is an upper bound.
    seconds : float or None
        Time of all but predictions; None if it did not run to its end.
    result : Result or None
        Of the right size, with made-up numbers; None if it did not run to its end.
    has_predicted : bool
        Whether the model did predict, so that `seconds` have the predictions too.
    """

    job: Job[Any]
    predicted: int
    cached: int
    is_exact: bool
    seconds: float | None = None
    result: Result | None = None
    has_predicted: bool = False


_MOST_SECONDS = 1.0
"""A rehearsal that takes longer, by many repetitions, is ended, and its bound is told."""


_OVERESTIMATION = 4
"""Ratio of the bound of a search's rows to those it predicts, in searches that go to an end of the
weights."""


def rehearse(
    request: BoundRequest, host: RehearsalHost, options: Options, path: str, pace: float
) -> Rehearsal:
    """Rehearse a method.

    Parameters
    ----------
    request : BoundRequest
        With the rehearsed engine, on `host`; shared by the methods of a request.
    pace : float
        Rows that the model predicts in a second; 0 where it is unknown.

    Raises
    ------
    ExplainError
        As preparing the method raises it.
    """
    start = time.monotonic()
    before = request.ledger.predicted
    own = preparation_of(options)
    job = own.prepare(Task(request, path), options)
    is_tree = request.choice is not None and not request.choice.predicts
    if is_tree and not own.is_predicted_on_trees:
        return _on_trees(host, job, start)
    unplanned = request.ledger.predicted - before
    is_estimate = request.question.engine is Engine.SURROGATE
    match Rehearsing.BY_BOUND if is_estimate else own.rehearsing(job.options):
        case Rehearsing.BY_SEARCH if searches_by_trial(job):
            return _searched(request, host, job, before, pace)
        case Rehearsing.BY_SEARCH:
            rows = job.cost + job.check_cost + unplanned
            return Rehearsal(job, rows, 0, is_exact=not job.check_cost)
        case Rehearsing.BY_BOUND:
            return Rehearsal(job, job.cost + unplanned, 0, is_exact=job.cost == 0)
        case _ if job.cost == 0:
            return Rehearsal(job, unplanned, 0, is_exact=True)
        case _:
            return _counted(request, host, job, start, before)


def searches_by_trial(job: Job[Any]) -> bool:
    """Return whether a method searches, and predicts what it tries."""
    is_search = preparation_of(job.options).rehearsing(job.options) is Rehearsing.BY_SEARCH
    return is_search and job.cost > (job.rows.drawn if job.rows else 0)


def _runs_to_its_end(job: Job[Any]) -> bool:
    return preparation_of(job.options).rehearsing(job.options) is Rehearsing.TO_ITS_END


def _searched(
    request: BoundRequest, host: RehearsalHost, job: Job[Any], before: int, pace: float
) -> Rehearsal:
    """Run a search that takes a moment, with the model; else, return its bound.

    Which weights a search tries again, as particles do that meet at an end of the weights, depends
    on the model's predictions at all weights before.
    """
    ledger, done, prepared = request.ledger, host.done, request.ledger.predicted
    bound = prepared - before + job.cost
    if job.cost > _OVERESTIMATION * host.search_seconds * pace:
        return Rehearsal(job, bound, 0, is_exact=False)
    ledger.reserve(job.cost)
    start = time.monotonic()
    host.deadline = start + host.search_seconds
    try:
        result = job.run()
    except RehearsalEnded:
        rest = int(host.planned - host.done)
        return Rehearsal(job, min(bound, ledger.predicted - before + rest), 0, is_exact=False)
    finally:
        host.deadline = float("inf")
        seconds = time.monotonic() - start
        host.search_seconds = max(host.search_seconds - seconds, 0.0)
        ledger.release(int(host.planned - host.done))
    cached = int(host.done - done) - (ledger.predicted - prepared)
    return Rehearsal(
        job, ledger.predicted - before, max(cached, 0), True, seconds, result, has_predicted=True
    )


def _on_trees(host: RehearsalHost, job: Job[Any], start: float) -> Rehearsal:
    """Trees predict nothing; where the cache has all numbers, the method is done at once."""
    if not _runs_to_its_end(job):
        return Rehearsal(job, 0, 0, is_exact=True)
    host.ends_at_miss, host.deadline = True, time.monotonic() + _MOST_SECONDS
    try:
        result = job.run()
    except RehearsalEnded:
        return Rehearsal(job, 0, 0, is_exact=True)
    finally:
        host.ends_at_miss, host.deadline = False, float("inf")
    return Rehearsal(job, 0, 0, True, time.monotonic() - start, result)


def _counted(
    request: BoundRequest, host: RehearsalHost, job: Job[Any], start: float, before: int
) -> Rehearsal:
    """Run a job on the rehearsed engine, and count."""
    ledger, done = request.ledger, host.done
    bound = ledger.predicted - before + job.cost
    prepared = ledger.predicted
    ledger.reserve(job.cost)
    host.ends_when_spent = not _runs_to_its_end(job)
    host.deadline = time.monotonic() + _MOST_SECONDS
    result = None
    try:
        result = job.run()
    except RehearsalEnded:
        if time.monotonic() > host.deadline:
            return Rehearsal(job, bound, 0, is_exact=False)
    except ExplainError as error:
        if error.reason in _CANCELLING:
            raise
        return Rehearsal(job, bound, 0, is_exact=False)  # made-up numbers did not suit
    finally:
        host.ends_when_spent, host.deadline = False, float("inf")
        ledger.release(int(host.planned - host.done))
    predicted = ledger.predicted - before
    cached = int(host.done - done) - (ledger.predicted - prepared)
    seconds = None if result is None else time.monotonic() - start
    is_exact = preparation_of(job.options).is_count_exact(job.options)
    return Rehearsal(job, predicted, max(cached, 0), is_exact, seconds, result)
