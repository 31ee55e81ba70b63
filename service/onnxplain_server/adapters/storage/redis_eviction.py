"""Index of uploaded files in Redis, by expiry: enforces the byte limit by eviction."""

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

# Minimum charge of a file: the index is read as a whole, and must stay short.
_MINIMUM_BYTES = 64 * 2**10

_ENTRY = re.compile(r"([0-9a-f]{32}) (\d{1,6}) (\d{1,18}) ([0-9a-f]{16})")


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """Stored file: the token in the keys of its parts, their count, its size, its owner."""

    token: str
    part_count: int
    size: int
    owner: str

    @property
    def charge(self) -> int:
        """Bytes that count against the limit."""
        return max(self.size, _MINIMUM_BYTES)

    def pack(self) -> str:
        """Format as text."""
        return f"{self.token} {self.part_count} {self.size} {self.owner}"

    @staticmethod
    def unpack(text: str) -> IndexEntry | None:
        """Parse the output of `pack`; None for any other text."""
        match = _ENTRY.fullmatch(text)
        return IndexEntry(match[1], int(match[2]), int(match[3]), match[4]) if match else None


def part_keys(entry: IndexEntry) -> list[str]:
    """Return the keys of all parts, in order."""
    return [f"{KEYS}part:{entry.token}:{number}" for number in range(entry.part_count)]


class BlobIndex:
    """Sorted set of all stored files, by expiry.

    It is not signed: whoever can write to Redis can delete files anyway, and
    the index discloses none.

    Parameters
    ----------
    connection : RedisConnection
    byte_limit : int
        For all files together.
    seconds : float
        Time to live of a file.
    """

    def __init__(self, connection: RedisConnection, byte_limit: int, seconds: float) -> None:
        self._connection = connection
        self._byte_limit = byte_limit
        self._seconds = seconds

    def add(self, entry: IndexEntry) -> None:
        """Add a file, or renew its expiry; raises RedisUnavailableError."""
        # By this machine's clock: a skew of some seconds does no harm here.
        expiry = time.time() + self._seconds
        self._connection.ask(lambda redis: redis.zadd(_INDEX, {entry.pack(): expiry}))

    def make_room(self, newcomer: IndexEntry) -> None:
        """Evict files until a new one fits; raises RedisUnavailableError.

        The owner with most bytes, the new file included, loses those that expire first.
        """
        entries = self._unexpired()
        byte_counts = Counter({newcomer.owner: newcomer.charge})
        for entry in entries:
            byte_counts[entry.owner] += entry.charge
        while byte_counts.total() > self._byte_limit and entries:
            # For each owner, the position of the file that expires first.
            oldest = {entries[i].owner: i for i in reversed(range(len(entries)))}
            victim = entries.pop(oldest[owner_to_evict(byte_counts, oldest, newcomer.owner)])
            self.delete(victim)
            byte_counts[victim.owner] -= victim.charge

    def _unexpired(self) -> list[IndexEntry]:
        """Return the unexpired entries, in order of expiry; remove the others."""
        now = time.time()
        entries = []
        for text, expiry in self._members():
            entry = IndexEntry.unpack(text)
            if entry is None or expiry < now:
                self._remove(text)
            else:
                entries.append(entry)
        return entries

    def _remove(self, text: str) -> None:
        self._connection.ask(lambda redis: redis.zrem(_INDEX, text))

    def delete(self, entry: IndexEntry) -> None:
        """Delete a file's parts and its entry; raises RedisUnavailableError."""

        def command(redis: Redis) -> None:
            if keys := part_keys(entry):
                redis.unlink(*keys)
            redis.zrem(_INDEX, entry.pack())

        self._connection.ask(command)

    def _members(self) -> list[tuple[str, float]]:
        """Return all packed entries with their expiry, ascending."""

        def command(redis: Redis) -> list[tuple[bytes, float]]:
            return scored(redis.zrange(_INDEX, 0, -1, withscores=True))

        return [
            (text.decode(errors="replace"), expiry)
            for text, expiry in self._connection.ask(command)
        ]
