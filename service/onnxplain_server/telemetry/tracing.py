"""What a server tells of its requests to whoever traces them across services."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from onnxplain_server.telemetry.spans import Attributes, Span

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}.*")
"""W3C Trace Context, level 1, 3.2."""

_AROUND = ("compute", "method", "choose")
_AROUND_REDIS = (*_AROUND, "cache get", "cache set", "wait")


class Trace(Protocol):
    """A request's own span, which is open."""

    @property
    def trace_id(self) -> str:
        """32 hexadecimal digits; empty where there is no trace."""

    @property
    def span_id(self) -> str:
        """16 hexadecimal digits; empty where nothing is recorded."""

    def end(self, spans: Sequence[Span], attributes: Attributes, error: str) -> None:
        """Record the request and its parts.

        Parameters
        ----------
        spans : sequence of Span
        attributes : Attributes
            Attributes of the request.
        error : str
            Why the server failed; empty where it did not, whatever the caller was told.
        """


class Tracer(Protocol):
    """Records traces."""

    def begin(self, name: str, headers: Mapping[str, str], attributes: Attributes) -> Trace:
        """Open the span of a request.

        Parameters
        ----------
        name : str
            Of a closed list.
        headers : mapping of str to str
            Of the request, by names in lower case: the trace that it belongs to.
        attributes : Attributes
            What samplers may choose by.
        """


@dataclass(frozen=True, slots=True)
class _Unrecorded:
    trace_id: str = ""
    span_id: str = ""

    def end(self, spans: Sequence[Span], attributes: Attributes, error: str) -> None:
        """See `Trace.end`."""


class Untraced:
    """A `Tracer` that records nothing; the log still names the caller's trace."""

    def begin(self, name: str, headers: Mapping[str, str], attributes: Attributes) -> Trace:  # noqa: ARG002 - nothing is recorded
        """See `Tracer.begin`."""
        found = _TRACEPARENT.fullmatch(headers.get("traceparent", ""))
        return NOWHERE if found is None or set(found[1]) == {"0"} else _Unrecorded(found[1])


NOWHERE: Trace = _Unrecorded()
"""Of a request that belongs to no trace."""

UNTRACED = Untraced()


def parents(spans: Sequence[Span]) -> list[int | None]:
    """Find, for each span, the innermost one during which it began.

    Only parts that have parts are asked: others may overlap, as they are noted by several threads.
    """
    found: list[int | None] = [None] * len(spans)
    around: list[int] = []
    for i in sorted(range(len(spans)), key=lambda i: (spans[i].start, -spans[i].end)):
        around = [k for k in around if spans[k].end >= spans[i].start]
        may = _AROUND_REDIS if spans[i].name == "redis" else _AROUND
        found[i] = next((k for k in reversed(around) if spans[k].name in may), None)
        if spans[i].name in _AROUND_REDIS:
            around.append(i)
    return found
