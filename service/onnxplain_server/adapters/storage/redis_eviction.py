"""The room that uploaded files take in Redis."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass

from redis import Redis

from onnxplain_server.adapters.storage.eviction import owner_to_evict
from onnxplain_server.adapters.storage.redis_connection import KEYS, RedisConnection
from onnxplain_server.adapters.storage.redis_replies import scored

_INDEX = f"{KEYS}blobs"

# What a file counts for at least: the list is read as a whole, and must stay short.
_LEAST_BYTES = 64 * 2**10

_ENTRY = re.compile(r"([0-9a-f]{32}) (\d{1,6}) (\d{1,18}) ([0-9a-f]{16})")


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A stored file: a token in the keys of its parts, their number, its bytes, and whose it is."""

    token: str
    part_count: int
    size: int
    owner: str

    @property
    def room(self) -> int:
        """What it counts for, in bytes."""
        return max(self.size, _LEAST_BYTES)

    def pack(self) -> str:
        """Write it as text."""
        return f"{self.token} {self.part_count} {self.size} {self.owner}"

    @staticmethod
    def unpack(text: str) -> IndexEntry | None:
        """Read what `pack` wrote; None where it is something else."""
        found = _ENTRY.fullmatch(text)
        return IndexEntry(found[1], int(found[2]), int(found[3]), found[4]) if found else None


def part_keys(entry: IndexEntry) -> list[str]:
    """Return the keys of all parts, in their order."""
    return [f"{KEYS}part:{entry.token}:{number}" for number in range(entry.part_count)]


class BlobIndex:
    """A list of all stored files, by the time when they end.

    It is not sealed: who can write to Redis can delete files anyway, and does
    not get any from it.

    Parameters
    ----------
    connection : RedisConnection
    byte_limit : int
        For all files together.
    seconds : float
        How long a file is kept.
    """

    def __init__(self, connection: RedisConnection, byte_limit: int, seconds: float) -> None:
        self._connection = connection
        self._byte_limit = byte_limit
        self._seconds = seconds

    def enter(self, entry: IndexEntry) -> None:
        """Note a file, or that it has its whole time again; raises LinkError."""
        # Redis' clock is not asked: some seconds more or less do no harm here.
        end = time.time() + self._seconds
        self._connection.ask(lambda redis: redis.zadd(_INDEX, {entry.pack(): end}))

    def make(self, wanted: IndexEntry) -> None:
        """Clear away files until one has room; or LinkError.

        Whoever holds most, with the new file, loses those that end first.
        """
        entries = self._current()
        held = Counter({wanted.owner: wanted.room})
        for entry in entries:
            held[entry.owner] += entry.room
        while held.total() > self._byte_limit and entries:
            # Of each owner, the place of what ends first.
            oldest = {entries[place].owner: place for place in reversed(range(len(entries)))}
            gone = entries.pop(oldest[owner_to_evict(held, oldest, wanted.owner)])
            self.clear(gone)
            held[gone.owner] -= gone.room

    def _current(self) -> list[IndexEntry]:
        """Return the entries that have not ended, those that end first in front."""
        now = time.time()
        entries = []
        for text, end in self._listed():
            entry = IndexEntry.unpack(text)
            if entry is None or end < now:
                self._strike(text)
            else:
                entries.append(entry)
        return entries

    def _strike(self, text: str) -> None:
        self._connection.ask(lambda redis: redis.zrem(_INDEX, text))

    def clear(self, entry: IndexEntry) -> None:
        """Delete a file's parts; raises LinkError."""

        def command(redis: Redis) -> None:
            if keys := part_keys(entry):
                redis.unlink(*keys)
            redis.zrem(_INDEX, entry.pack())

        self._connection.ask(command)

    def _listed(self) -> list[tuple[str, float]]:
        """Return all entries as they are packed, with their ends, ascending."""

        def command(redis: Redis) -> list[tuple[bytes, float]]:
            return scored(redis.zrange(_INDEX, 0, -1, withscores=True))

        return [(text.decode(errors="replace"), end) for text, end in self._connection.ask(command)]
