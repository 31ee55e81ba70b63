"""Account of replies that wait in memory for their readers: a bound, a share and a clock."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.systems import memory

LOG = logging.getLogger(__name__)

_IDLE_SECONDS = 15.0
_BYTES_PER_SECOND = 2**16
_CHECK_SECONDS = 1.0
_RELEASE_SECONDS, _KEPT_BYTES = 10.0, 2**26
"""Time after which the allocator is asked to return what was freed, in a process that has grown."""
_ROOM_SECONDS = 2.0
"""For which a finished reply waits until others are read; one at a time, as it takes memory."""
_COPIES = 2
"""Of a reply that waits: Python's bytes, and the transport's own."""


def longest_seconds(byte_count: int) -> float:
    """Return the time for which so many bytes may take, to be sent or to be read."""
    return _IDLE_SECONDS + byte_count / _BYTES_PER_SECOND


def check_share(byte_count: int, byte_limit: int, kinds: str = "replies to you") -> None:
    """Raise OVERLOADED for a caller of whom what waits takes half of the limit of all."""
    if byte_count >= byte_limit // 2:
        message = (
            f"{kinds} that wait to be read take {byte_count:,} bytes; read them, then ask again"
        )
        raise ExplainError(Reason.OVERLOADED, message)


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
    others once it has waited for 15 s. A large reply that finds no room within 2 s is refused.

    Parameters
    ----------
    byte_limit : int
        Memory of all replies, each of which takes twice its size. A single larger one is let
        through.

    Attributes
    ----------
    dropped_count : int
        Replies that were dropped unread.
    """

    def __init__(self, byte_limit: int) -> None:
        self.byte_limit = byte_limit
        self.dropped_count = 0
        self._lock = threading.Condition()
        self._is_waited = False
        self._replies: dict[Hashable, _Reply] = {}
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
            replaceable = self._replaceable(caller_key)
        check_share(own, self.byte_limit)
        if held < self.byte_limit:
            return
        if replaceable is None:
            message = f"replies that wait for their readers take {held:,} bytes; ask again later"
            raise ExplainError(Reason.OVERLOADED, message)
        self._drop(replaceable)

    def add(
        self, call: Hashable, caller_key: Hashable, byte_count: int, cancel: Callable[[], object]
    ) -> Callable[[], None]:
        """Count the reply of a call until the returned function is called; `cancel` drops it.

        A call whose reply is counted already is not counted twice.
        """
        with self._lock:
            if call in self._replies:
                return lambda: None
            self._count(call, _Reply(caller_key, byte_count, time.monotonic(), cancel))
        return lambda: self._remove(call)

    def reserve(
        self,
        call: Hashable,
        caller_key: Hashable,
        byte_count: int,
        cancel: Callable[[], object],
        deadline: float,
        *,
        is_part: bool = False,
    ) -> Callable[[], None]:
        """Count a reply before it is passed on, as `add` does, once there is room for it.

        Parts of a stream, which no work is lost with, also keep to their caller's half.

        Raises
        ------
        ExplainError
            OVERLOADED, where there is none within 2 s or until the deadline, a monotonic time.
        """
        while True:
            with self._lock:
                sharer = caller_key if is_part else None
                if self._wait_for_room(partial(self._has_room, byte_count, sharer), deadline):
                    self._count(call, _Reply(caller_key, byte_count, time.monotonic(), cancel))
                    return lambda: self._remove(call)
                held, replaceable = self._byte_counts.total(), self._replaceable(caller_key)
            if replaceable is None:
                message = (
                    f"replies that wait for their readers take {held:,} bytes, which leaves no room"
                    f" for this one of {byte_count:,}; read yours while they come, or ask for less"
                )
                raise ExplainError(Reason.OVERLOADED, message)
            self._drop(replaceable)

    def close(self) -> None:
        """Watch the clock no longer."""
        self._closed.set()

    def _wait_for_room(self, has_room: Callable[[], bool], deadline: float) -> bool:
        """Wait, unless another reply waits already; return whether there is room."""
        is_alone, seconds = not self._is_waited, min(_ROOM_SECONDS, deadline - time.monotonic())
        self._is_waited = True
        try:
            most = max(0.0, seconds) if is_alone else 0.0
            return self._lock.wait_for(has_room, most)
        finally:
            self._is_waited = not is_alone

    def _has_room(self, byte_count: int, sharer: Hashable | None) -> bool:
        held, size = self._byte_counts.total(), _COPIES * byte_count
        own = 0 if sharer is None else self._byte_counts[sharer]
        is_over = own and own + size > self.byte_limit // 2
        return not (held and (is_over or held + size > self.byte_limit))

    def _count(self, call: Hashable, reply: _Reply) -> None:
        self._replies[call] = reply
        self._byte_counts[reply.caller_key] += _COPIES * reply.byte_count

    def _remove(self, call: Hashable) -> None:
        with self._lock:
            reply = self._replies.pop(call, None)
            if reply is None:
                return
            self._byte_counts[reply.caller_key] -= _COPIES * reply.byte_count
            if not self._byte_counts[reply.caller_key]:
                del self._byte_counts[reply.caller_key]
            self._lock.notify_all()

    def _replaceable(self, caller_key: Hashable) -> _Reply | None:
        """Return the oldest reply of the caller with most bytes, if it may make room for this one.

        It has waited for 15 s, and is another caller's.
        """
        most = max(self._byte_counts.items(), key=lambda item: item[1], default=(None, 0))[0]
        theirs = (reply for reply in self._replies.values() if reply.caller_key == most)
        oldest = next((reply for reply in theirs if not reply.is_cancelled), None)
        if oldest is None or most == caller_key or _age(oldest) < _IDLE_SECONDS:
            return None
        return oldest

    def _run(self) -> None:
        least, released = memory.resident_bytes(), time.monotonic()
        while not self._closed.wait(_CHECK_SECONDS):
            with self._lock:
                replies = list(self._replies.values())
            for reply in replies:
                if _age(reply) > longest_seconds(reply.byte_count):
                    self._drop(reply)
            if time.monotonic() - released > _RELEASE_SECONDS:
                least, released = _release(least), time.monotonic()

    def _drop(self, reply: _Reply) -> None:
        """Drop a reply, once; the transport then calls what `add` returned."""
        with self._lock:
            if reply.is_cancelled:
                return
            reply.is_cancelled = True
            self.dropped_count += 1
        LOG.warning("a reply of %d bytes was not read in %.0f s", reply.byte_count, _age(reply))
        reply.cancel()


def _release(least: int) -> int:
    """Return freed memory to the system in a process that has grown; return its least size.

    Messages come in small pieces, which the allocator keeps when they are freed.
    """
    size = memory.resident_bytes()
    if size > least + _KEPT_BYTES:
        memory.release_freed()
    return min(least, size)


def _age(reply: _Reply) -> float:
    return time.monotonic() - reply.start
