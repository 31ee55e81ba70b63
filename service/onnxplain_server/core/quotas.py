"""Quotas: how much of a quantity a caller may use per hour, in a sliding window of minutes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

BUCKET_SECONDS = 60
BUCKET_COUNT = 60
"""Whole minutes that count beside the current one: what was used counts for 60 to 61 minutes."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Amount that was reserved in the window of a key.

    Attributes
    ----------
    amount : int
    bucket : int
        Minute of the reservation, since the epoch.
    is_shared : bool
        Whether it was reserved among all servers.
    """

    amount: int
    bucket: int
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class Shortage:
    """Refusal of a reservation.

    Attributes
    ----------
    used : int
        In the window, reservations included.
    seconds : float
        Until there is room, if nothing more is used; infinite if there never is.
    """

    used: int
    seconds: float


class QuotaStore(Protocol):
    """Store of what was used, by key; thread-safe, and raises nothing."""

    @property
    def error_count(self) -> int:
        """Number of times that the store could not count among all servers."""

    def reserve(self, key: str, amount: int, limit: int) -> Reservation | Shortage:
        """Reserve an amount, if it fits below the limit together with what the window has."""

    def settle(self, key: str, reservation: Reservation | None, used: int) -> None:
        """Put what was used into the place of a reservation, as of now."""

    def used(self, key: str) -> int:
        """Return what the window has, reservations included."""


def bucket_of(time: float) -> int:
    """Return the bucket of a time in seconds since the epoch."""
    return int(time // BUCKET_SECONDS)


def shortage(buckets: Mapping[int, int], amount: int, limit: int, time: float) -> Shortage | None:
    """Decide on a reservation; None where it fits.

    Parameters
    ----------
    buckets : mapping of int to int
        Amounts by bucket; those that left the window do not count.
    amount, limit : int
    time : float
        Now, in seconds since the epoch.
    """
    oldest = bucket_of(time) - BUCKET_COUNT
    window = {bucket: count for bucket, count in buckets.items() if bucket >= oldest}
    used = sum(window.values())
    excess = used + amount - limit
    if excess <= 0:
        return None
    if amount > limit:
        return Shortage(used, math.inf)
    for bucket in sorted(window):
        excess -= window[bucket]
        if excess <= 0:
            end = (bucket + BUCKET_COUNT + 1) * BUCKET_SECONDS
            return Shortage(used, end - time)
    return Shortage(used, math.inf)
