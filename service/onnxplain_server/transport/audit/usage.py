"""Usage of one explanation: what it worked on and what it cost, filled while it is served."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from onnxplain_server.core.counts.remote_counts import NO_USE, RemoteUse
from onnxplain_server.core.request import Reply
from onnxplain_server.telemetry.spans import Span


@dataclass(slots=True)
class Usage:
    """Usage of one explanation. Complete once its work has ended.

    Attributes
    ----------
    model, table : str
        Ids, "sha256:" and a digest; empty where the request has none, or was not read.
    methods : tuple of str
        Names, each once, in alphabetical order.
    row_count : int
        Largest number of rows that a method drew.
    predicted_row_count : float
        Of an explanation that failed: as far as it is known, see `fail`.
    processor_seconds : float
        Of all processes that worked for it, except the server's own.
    received_byte_count, sent_byte_count : int
        Sizes of the message and of the answer.
    cached_share : float or None
        Share of the numbers looked up that the cache had; None where none was looked up.
    done_row_count : float
        Latest progress.
    remote : RemoteUse
        Calls of a remote model.
    """

    model: str = ""
    table: str = ""
    methods: tuple[str, ...] = ()
    row_count: int = 0
    predicted_row_count: float = 0.0
    processor_seconds: float = 0.0
    received_byte_count: int = 0
    sent_byte_count: int = 0
    cached_share: float | None = None
    done_row_count: float = 0.0
    remote: RemoteUse = NO_USE

    def read(self, model: str, table: str, methods: tuple[str, ...]) -> None:
        """Record what a request names, once it is read."""
        self.model, self.table, self.methods = model, table, methods

    def complete(self, reply: Reply, row_limit: float) -> None:
        """Record the work behind a reply, of which no more than `row_limit` rows are believed."""
        work = reply.work
        self.methods = self.methods or work.methods
        self.row_count = work.row_count
        self.predicted_row_count = min(work.predicted_row_count, row_limit)
        looked_up = work.cache_hit_count + work.cache_miss_count
        self.cached_share = work.cache_hit_count / looked_up if looked_up else None
        self.sent_byte_count = reply.byte_count

    def fail(self, spans: Iterable[Span]) -> None:
        """Record the predicted rows of work that failed.

        They are those of its spans; without spans, because the worker was killed, those of the
        latest progress, which the cache or the trees may have answered.
        """
        predicted = [float(s.attributes.get("rows", 0)) for s in spans if s.name == "predict"]
        self.predicted_row_count = sum(predicted) or self.done_row_count
