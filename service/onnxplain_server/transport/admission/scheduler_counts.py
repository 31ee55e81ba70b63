"""Counts of a scheduler at a moment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SchedulerCounts:
    """Requests in flight (with a ticket), running and waiting, and their callers.

    `waiting_seconds` is the estimated time until those that wait have begun.
    """

    in_flight_count: int
    running_count: int
    waiting_count: int
    caller_count: int
    waiting_seconds: float
