"""How many connections a REST server keeps, and which go where there are more."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection

from onnxplain_server.transport.rest_channel import Channel

CONNECTION_COUNT = 256
"""Bodies wait on disk while they arrive: this many times the limit at most."""

_IDLE_SECONDS = 15.0
_BYTES_PER_SECOND = 2**16
_LOOK_SECONDS = 1.0


class Crowd:
    """Closes connections, so that slow and idle ones keep nobody out.

    A connection goes that moves nothing for 15 s, or whose request takes
    longer than 15 s and a second for every 64 KiB; and where there are too many,
    of the address with most, the one that has waited for its request for
    longest. Those whose request is worked on, or whose reply is on its way, stay.
    """

    def __init__(self) -> None:
        self._looked = time.monotonic()

    def attend(self, channels: Collection[Channel]) -> None:
        """Close what has to go; to be called by the loop after each step."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            for channel in channels:
                if not channel.requests and _is_over(channel, now):
                    channel.will_close = True
        if len(channels) > CONNECTION_COUNT:
            _make_room(channels)


def _is_over(channel: Channel, now: float) -> bool:
    allowed = _IDLE_SECONDS + channel.byte_count / _BYTES_PER_SECOND
    is_late = channel.request is not None and now - channel.began > allowed
    return is_late or now - channel.moved > _IDLE_SECONDS


def _make_room(channels: Collection[Channel]) -> None:
    kept = [channel for channel in channels if not channel.will_close]
    held = Counter(channel.address for channel in kept)
    able = [channel for channel in kept if not (channel.requests or channel.total_outbufs_len)]
    while len(kept) > CONNECTION_COUNT and able:
        most = max(held[channel.address] for channel in able)
        loser = min((c for c in able if held[c.address] == most), key=_waits_since)
        loser.will_close = True
        held[loser.address] -= 1
        able.remove(loser)
        kept.remove(loser)


def _waits_since(channel: Channel) -> float:
    return channel.began if channel.request is not None else channel.moved
