"""Eviction order of uploaded files: the owner with most bytes loses its least recently used file.

So one caller's uploads never displace those of callers with less.
"""

from __future__ import annotations

from collections.abc import Mapping


def owner_of(name: str) -> str:
    """Return the owner in a file's name; see `BlobStore`."""
    return name.partition(":")[0]


def owner_to_evict(byte_counts: Mapping[str, int], oldest: Mapping[str, int], newcomer: str) -> str:
    """Return the owner whose oldest file is evicted next: the one with most bytes.

    Parameters
    ----------
    byte_counts : mapping of str to int
        Bytes by owner, the new file included.
    oldest : mapping of str to int
        Last use of the oldest file of each owner, in any unit; not empty.
    newcomer : str
        Owner of the new file. Loses ties; then the owner of the oldest file does.
    """
    return max(oldest, key=lambda owner: (byte_counts[owner], owner == newcomer, -oldest[owner]))
