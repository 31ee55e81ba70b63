"""How long the parts of a request take: noted where they happen, collected where it is served."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeAlias

from onnxplain_server.core.errors import ExplainError

_MOST_HERE = 512
"""Spans that this process notes of a request: one that asks the cache more often tells no more."""

_MOST = 1024
"""Those too that the process sends which computes."""

Attributes: TypeAlias = Mapping[str, str | float]
"""What is known of a span: counts and names of ours, never anything of a model or a table."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the work.

    Attributes
    ----------
    name : str
        Of a closed list: see docs/operations.md.
    start, end : float
        Of the monotonic clock, in seconds; all processes of a machine share it.
    attributes : Attributes
        With "error" where it failed.
    """

    name: str
    start: float
    end: float
    attributes: Attributes = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """How long it took; of calls side by side, all of them together."""
        return float(self.attributes.get("seconds", self.end - self.start))


class Spans:
    """Those of one request; safe for threads.

    Parameters
    ----------
    names : mapping of str to str
        What the log calls the request by, like its id.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self.names = names or {}
        self._lock = threading.Lock()
        self._spans: list[Span] = []
        self._calls: dict[str, _Calls] = {}

    @property
    def recorded_trace(self) -> str:
        """The trace that these are recorded in; empty where they are in none."""
        return self.names.get("trace_id", "") if "span_id" in self.names else ""

    def add(self, spans: Iterable[Span]) -> None:
        """Take note of spans that have ended."""
        with self._lock:
            self._spans += spans
            del self._spans[_MOST:]

    def count(self, name: str, start: float, rows: int) -> None:
        """Take note of a call that ends now: calls become one span with the one around them."""
        end = time.monotonic()
        with self._lock:
            self._calls.setdefault(name, _Calls(start)).add(start, end, rows)

    @contextmanager
    def measure(self, name: str, **attributes: str | float) -> Iterator[None]:
        """Note how long what is done inside takes, and whether it fails."""
        self._gather()
        start = time.monotonic()
        try:
            yield
        except BaseException as error:
            attributes["error"] = _error(error)
            raise
        finally:
            self._gather()
            if len(self._spans) < _MOST_HERE:
                self.add([Span(name, start, time.monotonic(), attributes)])

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect here what this thread notes inside by `span`."""
        token = _COLLECTING.set(self)
        try:
            yield
        finally:
            _COLLECTING.reset(token)

    def finished(self) -> list[Span]:
        """Return those that have ended."""
        self._gather()
        with self._lock:
            return list(self._spans)

    def _gather(self) -> None:
        with self._lock:
            calls, self._calls = self._calls, {}
        self.add(each.span(name) for name, each in calls.items())


class _Calls:
    """Many short calls, perhaps side by side."""

    def __init__(self, start: float) -> None:
        self._start = self._end = start
        self._count = self._rows = 0
        self._seconds = 0.0

    def add(self, start: float, end: float, rows: int) -> None:
        self._start, self._end = min(self._start, start), max(self._end, end)
        self._count += 1
        self._rows += rows
        self._seconds += end - start

    def span(self, name: str) -> Span:
        attributes = {"calls": self._count, "rows": self._rows, "seconds": self._seconds}
        return Span(name, self._start, self._end, attributes)


_COLLECTING: ContextVar[Spans | None] = ContextVar("spans", default=None)


def current() -> Spans:
    """Return what collects on this thread; where nothing does, what nobody looks at."""
    return _COLLECTING.get() or Spans()


@contextmanager
def span(name: str, **attributes: str | float) -> Iterator[None]:
    """Note how long what is done inside takes, if anybody collects on this thread."""
    with current().measure(name, **attributes):
        yield


def _error(error: BaseException) -> str:
    """Name an error; its text may hold a client's data."""
    return error.reason.name if isinstance(error, ExplainError) else type(error).__name__
