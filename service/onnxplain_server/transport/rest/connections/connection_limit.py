"""Connection limit of the REST server, with slow-client protection and idle timeouts.

At the limit it closes connections of the address with most, never ones with a request at work.
waitress counts all connections alike, and stops accepting at its limit.
"""

from __future__ import annotations

import heapq
import logging
import time
from collections import Counter
from collections.abc import Collection

from onnxplain_server.transport.admission.admission import CallerKey
from onnxplain_server.transport.rest.connections.waitress_channel import RestChannel
from onnxplain_server.transport.unread_replies import check_share, longest_seconds

LOG = logging.getLogger(__name__)

CONNECTION_LIMIT = 512
"""Also bounds the disk space for request bodies that are being received."""

ACCEPT_LIMIT = 32
"""Connections accepted in one step of the loop; as many of the newest are never closed."""

_IDLE_SECONDS = 15.0
_CHECK_SECONDS = 1.0


class ConnectionLimit:
    """Closes connections, so that slow and idle clients keep no others out.

    Refuses requests whose deadline passes while they are received. Closes a
    connection without traffic for 15 s, or whose request, or the reading of its reply,
    takes longer than 15 s plus 1 s per 64 KiB. Where replies that are not read and bodies
    take more bytes than allowed, closes connections of the caller with most bytes, those without
    a request at work and then the one without traffic for longest first. A caller with half of the
    bytes is refused before any work. Above the limit of connections, closes
    those of the address with most, the one that has waited longest for its request first.
    Connections with a request at work or an unsent reply then stay, and so do the newest 32: each
    is read from before it can be closed, so that a probe that sends at once is answered.

    Parameters
    ----------
    byte_limit : int
        Of replies that are not read, and of bodies that are coming or kept for their requests.

    Attributes
    ----------
    byte_count : int
        Of these, after the last step of the loop.
    dropped_count : int
        Connections that were closed for their sum, or before their reply was read.
    """

    def __init__(self, byte_limit: int) -> None:
        self.byte_limit = byte_limit
        self.byte_count = self.dropped_count = 0
        self._byte_counts = Counter[CallerKey]()
        self._checked = time.monotonic()

    def check(self, caller_key: CallerKey, body_byte_count: int) -> None:
        """Raise OVERLOADED for a caller with half of the limit, without this request's body."""
        held = self._byte_counts[caller_key] - body_byte_count
        check_share(held, self.byte_limit, "bodies of your requests, and replies to you")

    def enforce(self, channels: Collection[RestChannel]) -> None:
        """Close connections; called by the loop after each step."""
        now = time.monotonic()
        for channel in channels:
            channel.refuse_late(now)
        if now - self._checked >= _CHECK_SECONDS:
            self._checked = now
            for channel in channels:
                if not channel.will_close and _is_timed_out(channel, now):
                    channel.will_close = True
                    self.dropped_count += bool(channel.total_outbufs_len)
        self._count(channels)
        if self.byte_count > self.byte_limit:
            self._close_fullest(channels)
        if len(channels) > CONNECTION_LIMIT:
            _close_excess(channels)

    def _count(self, channels: Collection[RestChannel]) -> None:
        held = Counter[CallerKey]()
        for channel in channels:
            if byte_count := channel.waiting_byte_count:
                held[channel.caller_key] += byte_count
        self._byte_counts, self.byte_count = held, held.total()

    def _close_fullest(self, channels: Collection[RestChannel]) -> None:
        """Close connections whose bytes wait for their other side, until the limit is kept."""
        waiting = {channel: channel.waiting_byte_count for channel in channels}
        while self.byte_count > self.byte_limit:
            held = Counter[CallerKey]()
            for channel, byte_count in waiting.items():
                held[channel.caller_key] += byte_count
            most = held.most_common(1)[0][0]
            victim = min(
                (c for c, byte_count in waiting.items() if byte_count and c.caller_key == most),
                key=lambda channel: (bool(channel.requests), channel.last_active),
            )
            byte_count = waiting.pop(victim)
            LOG.warning("a connection with %d bytes that wait was closed to make room", byte_count)
            self.byte_count -= byte_count
            self.dropped_count += 1
            victim.discard()


def _is_timed_out(channel: RestChannel, now: float) -> bool:
    reads_slowly = bool(channel.total_outbufs_len) and _is_slow(
        now - channel.reply_start, channel.reply_byte_count
    )
    if channel.requests:  # its caller may wait for the work, and not read what is there
        return reads_slowly
    sends_slowly = channel.request is not None and _is_slow(
        now - channel.request_start, channel.byte_count
    )
    return sends_slowly or reads_slowly or now - channel.last_active > _IDLE_SECONDS


def _is_slow(seconds: float, byte_count: int) -> bool:
    return seconds > longest_seconds(byte_count)


def _close_excess(channels: Collection[RestChannel]) -> None:
    open_ = [channel for channel in channels if not channel.will_close]
    counts = Counter(channel.address for channel in open_)
    newest = set(heapq.nlargest(ACCEPT_LIMIT, open_, key=lambda channel: channel.accepted))
    closable = [channel for channel in open_ if channel not in newest and _is_waiting(channel)]
    for _ in range(min(len(open_) - CONNECTION_LIMIT, len(closable))):
        maximum = max(counts[channel.address] for channel in closable)
        victim = min((c for c in closable if counts[c.address] == maximum), key=_waiting_since)
        victim.will_close = True
        counts[victim.address] -= 1
        closable.remove(victim)


def _is_waiting(channel: RestChannel) -> bool:
    return not (channel.requests or channel.total_outbufs_len)


def _waiting_since(channel: RestChannel) -> float:
    if channel.request is None:
        return channel.last_active
    # Not the first byte: a slow client would seem newer than one that connected later.
    return channel.accepted if channel.request_count == 1 else channel.request_start
