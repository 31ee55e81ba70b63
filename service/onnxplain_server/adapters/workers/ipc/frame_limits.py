"""Limits of what a worker may send: about ten times what measured requests of all methods send.

A worker that breaks one is killed. `python -m bench.server.frame_traffic` measures requests,
`python -m bench.server.hijacked` workers that were taken over.
"""

from __future__ import annotations

from collections.abc import Mapping

NAME_BYTE_LIMIT = 128
"""Length of a cache key; keys are hexadecimal SHA-256 digests."""

NAME_COUNT_LIMIT = 1_024
"""Names of one CACHE_GET, entries of one CACHE_PUT."""

VALUE_BYTE_LIMIT = 8 * 2**20
"""Length of a cached value: predictions of a million rows. Larger ones are not cached."""

REPLY_BYTE_LIMIT = 4 * 2**20
"""Bytes in a reply to CACHE_GET after which it ends; the worker asks again for the other names."""

PUT_BYTE_LIMIT = 256 * 2**20
"""Bytes that one request may put into the cache, `ENTRY_BYTES` for each entry included."""

ENTRY_BYTES = 2_048
"""Charge for an entry besides its value, for the time that storing it takes."""

ANSWER_HEADER_BYTE_LIMIT = 1_024
"""Header of an answer; the answer itself goes through shared memory."""

PART_BYTE_LIMIT, PART_COUNT_LIMIT = 4 * 2**20, 256
"""Length of a part of an answer, and parts of one request; others are not published."""

TABLE_PART_BYTE_LIMIT, TABLE_BYTE_LIMIT = 2**20, 2**34
"""Length of a part of a table that is written, and of the whole table."""

LOAD_COUNT_LIMIT = 16
"""Models that one request may load: its own, with and without a link."""

READ_BURST = 20_000
READS_PER_SECOND = 20_000
"""Reads from the socket for one request: one per header and payload, more if they come in parts."""


def charge(entries: Mapping[str, bytes]) -> int:
    """Return the bytes that entries take of `PUT_BYTE_LIMIT`."""
    return sum(ENTRY_BYTES + len(value) for value in entries.values())
