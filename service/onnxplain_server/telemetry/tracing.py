"""Distributed tracing (W3C Trace Context): interface of tracers, and one that records nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from onnxplain_server.telemetry.spans import Attributes, Span

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}.*")
"""W3C Trace Context, level 1, 3.2."""

_PARENTS = ("compute", "method", "choose")
_PARENTS_OF_REDIS = (*_PARENTS, "cache get", "cache set", "wait")


class Trace(Protocol):
    """Open server span of a request."""

    @property
    def trace_id(self) -> str:
        """Trace id, 32 hexadecimal digits; empty without a trace."""

    @property
    def span_id(self) -> str:
        """Span id, 16 hexadecimal digits; empty if nothing is recorded."""

    def end(self, spans: Sequence[Span], attributes: Attributes, error: str) -> None:
        """Record the request and its spans.

        Parameters
        ----------
        spans : sequence of Span
        attributes : Attributes
            Attributes of the request.
        error : str
            Type of the server's failure; empty for errors of the caller.
        """


class Tracer(Protocol):
    """Tracer of requests."""

    def begin(self, name: str, headers: Mapping[str, str], attributes: Attributes) -> Trace:
        """Start the span of a request.

        Parameters
        ----------
        name : str
            One of a closed list.
        headers : mapping of str to str
            Headers of the request, names in lower case: they name the caller's trace.
        attributes : Attributes
            Attributes for samplers.
        """


@dataclass(frozen=True, slots=True)
class _Unrecorded:
    trace_id: str = ""
    span_id: str = ""

    def end(self, spans: Sequence[Span], attributes: Attributes, error: str) -> None:
        """Record nothing."""


class Untraced:
    """`Tracer` that records nothing; the log still has the caller's trace id."""

    def begin(self, name: str, headers: Mapping[str, str], attributes: Attributes) -> Trace:  # noqa: ARG002 - nothing is recorded
        """Return a trace with the id of the caller's trace, if it sent one."""
        match = _TRACEPARENT.fullmatch(headers.get("traceparent", ""))
        return NO_TRACE if match is None or set(match[1]) == {"0"} else _Unrecorded(match[1])


NO_TRACE: Trace = _Unrecorded()
"""Trace of a request without one."""

UNTRACED = Untraced()


def parents(spans: Sequence[Span]) -> list[int | None]:
    """Return the parent of each span: the innermost one during which it began.

    Only some names can be parents; others may overlap, because several threads record them.
    """
    parent_of: list[int | None] = [None] * len(spans)
    open_: list[int] = []
    for i in sorted(range(len(spans)), key=lambda i: (spans[i].start, -spans[i].end)):
        open_ = [k for k in open_ if spans[k].end >= spans[i].start]
        names = _PARENTS_OF_REDIS if spans[i].name == "redis" else _PARENTS
        parent_of[i] = next((k for k in reversed(open_) if spans[k].name in names), None)
        if spans[i].name in _PARENTS_OF_REDIS:
            open_.append(i)
    return parent_of
