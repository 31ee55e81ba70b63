"""Spans of a request: durations of its parts, recorded where they happen, across processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeAlias

from onnxplain_server.core.errors import ExplainError

_LOCAL_SPAN_LIMIT = 512
"""Spans of a request that this process records; later ones are dropped."""

_SPAN_LIMIT = 1024
"""Spans of a request, including those sent by the worker process."""

Attributes: TypeAlias = Mapping[str, str | float]
"""Attributes of a span: counts and names of the server, never data of a model or a table."""


@dataclass(frozen=True, slots=True)
class Span:
    """Span: a part of a request's work.

    Attributes
    ----------
    name : str
        One of the list in docs/operations.md.
    start, end : float
        Monotonic time in seconds; all processes of a machine share this clock.
    attributes : Attributes
        Includes "error" if it failed.
    """

    name: str
    start: float
    end: float
    attributes: Attributes = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Duration; for concurrent calls, the sum of their durations."""
        return float(self.attributes.get("seconds", self.end - self.start))


class Spans:
    """Spans of one request; thread-safe.

    Parameters
    ----------
    names : mapping of str to str
        Ids of the request in the log.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self.names = names or {}
        self._lock = threading.Lock()
        self._spans: list[Span] = []
        self._calls: dict[str, _Calls] = {}

    @property
    def recorded_trace(self) -> str:
        """Id of the trace that records the spans; empty if none does."""
        return self.names.get("trace_id", "") if "span_id" in self.names else ""

    def add(self, spans: Iterable[Span]) -> None:
        """Add spans that have ended."""
        with self._lock:
            self._spans += spans
            del self._spans[_SPAN_LIMIT:]

    def count(self, name: str, start: float, rows: int) -> None:
        """Count a call that ends now; the calls within one span are merged into one span."""
        end = time.monotonic()
        with self._lock:
            self._calls.setdefault(name, _Calls(start)).add(start, end, rows)

    @contextmanager
    def measure(self, name: str, **attributes: str | float) -> Iterator[None]:
        """Record the duration of the context, and whether it fails."""
        self._merge_calls()
        start = time.monotonic()
        try:
            yield
        except BaseException as error:
            attributes["error"] = _error(error)
            raise
        finally:
            self._merge_calls()
            if len(self._spans) < _LOCAL_SPAN_LIMIT:
                self.add([Span(name, start, time.monotonic(), attributes)])

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect the spans that this thread records in the context by `span`."""
        token = _COLLECTING.set(self)
        try:
            yield
        finally:
            _COLLECTING.reset(token)

    def finished(self) -> list[Span]:
        """Return the spans that have ended."""
        self._merge_calls()
        with self._lock:
            return list(self._spans)

    def _merge_calls(self) -> None:
        with self._lock:
            calls, self._calls = self._calls, {}
        self.add(merged.span(name) for name, merged in calls.items())


class _Calls:
    """Many short calls, possibly concurrent, merged into one span."""

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
    """Return the spans that this thread collects into, or new ones that are discarded."""
    return _COLLECTING.get() or Spans()


@contextmanager
def span(name: str, **attributes: str | float) -> Iterator[None]:
    """Record the duration of the context in the spans of this thread."""
    with current().measure(name, **attributes):
        yield


def _error(error: BaseException) -> str:
    """Name an error, without its text, which may hold a client's data."""
    return error.reason.name if isinstance(error, ExplainError) else type(error).__name__
