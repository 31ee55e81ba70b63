"""How many connections a REST server keeps, and which go where there are more."""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Collection

from onnxplain_server.transport.rest.waitress_channel import RestChannel

CONNECTION_COUNT = 256
"""Bodies wait on disk while they arrive: this many times the limit at most."""

ARRIVAL_COUNT = CONNECTION_COUNT // 8
"""Connections accepted in one step of the loop at most, and the newest that are never closed."""

_IDLE_SECONDS = 15.0
_BYTES_PER_SECOND = 2**16
_LOOK_SECONDS = 1.0


class ConnectionLimit:
    """Closes connections, so that slow and idle ones keep nobody out.

    A connection goes that moves nothing for 15 s, or whose request takes
    longer than 15 s and a second for every 64 KiB; and where there are too many,
    of the address with most, the one that has waited for its request for
    longest. Those whose request is worked on, or whose reply is on its way, stay,
    and so do the newest 32: each connection is read from before it may go, so that
    a request that follows at once, as that of a probe, is answered.
    """

    def __init__(self) -> None:
        self._looked = time.monotonic()

    def attend(self, channels: Collection[RestChannel]) -> None:
        """Close what has to go; to be called by the loop after each step."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            for channel in channels:
                if not channel.requests and _is_over(channel, now):
                    channel.will_close = True
        if len(channels) > CONNECTION_COUNT:
            _make_room(channels)


def _is_over(channel: RestChannel, now: float) -> bool:
    allowed = _IDLE_SECONDS + channel.byte_count / _BYTES_PER_SECOND
    is_late = channel.request is not None and now - channel.began > allowed
    return is_late or now - channel.moved > _IDLE_SECONDS


def _make_room(channels: Collection[RestChannel]) -> None:
    kept = [channel for channel in channels if not channel.will_close]
    held = Counter(channel.address for channel in kept)
    newest = set(heapq.nlargest(ARRIVAL_COUNT, kept, key=lambda channel: channel.came))
    able = [channel for channel in kept if channel not in newest and _waits(channel)]
    for _ in range(min(len(kept) - CONNECTION_COUNT, len(able))):
        most = max(held[channel.address] for channel in able)
        loser = min((c for c in able if held[c.address] == most), key=_waits_since)
        loser.will_close = True
        held[loser.address] -= 1
        able.remove(loser)


def _waits(channel: RestChannel) -> bool:
    return not (channel.requests or channel.total_outbufs_len)


def _waits_since(channel: RestChannel) -> float:
    if channel.request is None:
        return channel.moved
    # Not its first byte: a slow one would pass for newer than one that came later.
    return channel.came if channel.request_count == 1 else channel.began
