"""Whose files go first where room is needed, so that nobody's uploads displace those of others."""

from __future__ import annotations

from collections.abc import Mapping


def owner_of(name: str) -> str:
    """Return whose file it is; see `BlobStore`."""
    return name.partition(":")[0]


def owner_to_evict(held: Mapping[str, int], oldest: Mapping[str, int], newcomer: str) -> str:
    """Return the owner whose oldest file goes next: who holds most.

    Parameters
    ----------
    held : mapping of str to int
        Bytes by owner, with those that are to come.
    oldest : mapping of str to int
        When the oldest file of each owner was used, in any unit; not empty.
    newcomer : str
        Who needs the room. He goes first among equals, then who has the oldest file.
    """
    return max(oldest, key=lambda owner: (held[owner], owner == newcomer, -oldest[owner]))
