"""Account of replies that wait in memory for their readers: a bound, a share and a clock."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from onnxplain_server.core.errors import ExplainError, Reason

LOG = logging.getLogger(__name__)

_IDLE_SECONDS = 15.0
_BYTES_PER_SECOND = 2**16
_CHECK_SECONDS = 1.0
_COPIES = 2
"""Of a reply that waits: Python's bytes, and the transport's own."""


def longest_seconds(byte_count: int) -> float:
    """Return the time for which so many bytes may take, to be sent or to be read."""
    return _IDLE_SECONDS + byte_count / _BYTES_PER_SECOND


@dataclass(slots=True)
class _Reply:
    caller_key: Hashable
    byte_count: int
    start: float
    cancel: Callable[[], object]
    is_cancelled: bool = False


class UnreadReplies:
    """Replies that a transport holds until they are read; thread-safe.

    One that is not read within 15 s and 1 s for each 64 KiB is cancelled, also where its caller
    has set no deadline. While replies of a caller take half of the limit, its requests are refused
    before any work; where all take the limit, the oldest of the caller with most makes room for
    others once it has waited for 15 s.

    Parameters
    ----------
    byte_limit : int
        Memory of all replies, each of which takes twice its size. Requests at work are let through,
        so that their replies may come on top.
    """

    def __init__(self, byte_limit: int) -> None:
        self._byte_limit = byte_limit
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._replies: dict[int, _Reply] = {}
        self._byte_counts: Counter[Hashable] = Counter()
        self._closed = threading.Event()
        threading.Thread(target=self._run, name="onnxplain-unread", daemon=True).start()

    @property
    def byte_count(self) -> int:
        """Memory of all replies that wait."""
        with self._lock:
            return self._byte_counts.total()

    def check(self, caller_key: Hashable) -> None:
        """Raise OVERLOADED for a caller whose replies, or for whom those of all, take too much."""
        with self._lock:
            own, held = self._byte_counts[caller_key], self._byte_counts.total()
            oldest = self._oldest() if held >= self._byte_limit else None
        if own >= self._byte_limit // 2:
            message = (
                f"replies to you that wait to be read take {own:,} bytes; read them, then ask again"
            )
            raise ExplainError(Reason.OVERLOADED, message)
        if held < self._byte_limit:
            return
        if oldest is None or oldest.caller_key == caller_key or _age(oldest) < _IDLE_SECONDS:
            message = f"replies that wait for their readers take {held:,} bytes; ask again later"
            raise ExplainError(Reason.OVERLOADED, message)
        _cancel(oldest)

    def add(
        self, caller_key: Hashable, byte_count: int, cancel: Callable[[], object]
    ) -> Callable[[], None]:
        """Count a reply until the returned function is called; `cancel` drops it."""
        number = next(self._numbers)
        with self._lock:
            self._replies[number] = _Reply(caller_key, byte_count, time.monotonic(), cancel)
            self._byte_counts[caller_key] += _COPIES * byte_count
        return lambda: self._remove(number)

    def close(self) -> None:
        """Watch the clock no longer."""
        self._closed.set()

    def _remove(self, number: int) -> None:
        with self._lock:
            reply = self._replies.pop(number, None)
            if reply is None:
                return
            self._byte_counts[reply.caller_key] -= _COPIES * reply.byte_count
            if not self._byte_counts[reply.caller_key]:
                del self._byte_counts[reply.caller_key]

    def _oldest(self) -> _Reply | None:
        """Return the oldest reply of the caller with most bytes."""
        most = max(self._byte_counts.items(), key=lambda item: item[1], default=(None, 0))[0]
        own = (reply for reply in self._replies.values() if reply.caller_key == most)
        return next((reply for reply in own if not reply.is_cancelled), None)

    def _run(self) -> None:
        while not self._closed.wait(_CHECK_SECONDS):
            with self._lock:
                replies = list(self._replies.values())
            for reply in replies:
                if _age(reply) > longest_seconds(reply.byte_count):
                    _cancel(reply)


def _age(reply: _Reply) -> float:
    return time.monotonic() - reply.start


def _cancel(reply: _Reply) -> None:
    """Drop a reply, once; the transport then calls what `add` returned."""
    if reply.is_cancelled:
        return
    reply.is_cancelled = True
    LOG.warning("a reply of %d bytes was not read in %.0f s", reply.byte_count, _age(reply))
    reply.cancel()
