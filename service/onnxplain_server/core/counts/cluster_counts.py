"""Counts of what a server's cluster did, as metrics tell them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum


class TaskOutcome(Enum):
    """End of a task that was handed to the cluster; values are attributes of `ClusterCounts`."""

    DONE = "done_count"
    FAILED = "failed_count"
    LOST = "lost_count"
    DROPPED = "dropped_count"


@dataclass(frozen=True, slots=True)
class ClusterCounts:
    """Counts of tasks, workers and bytes.

    Attributes
    ----------
    done_count : int
        Tasks whose results came.
    failed_count : int
        Tasks that ended with an error of the table, the model or the cluster.
    lost_count : int
        Tasks that were lost with their worker or scheduler, and handed over again.
    dropped_count : int
        Tasks whose results nobody waited for any more.
    lost_worker_count : int
        Workers that were there at one question, and not at the next; those that another one
        replaced in between are not noticed.
    sent_bytes : int
        Jobs, models and rows, each as often as it was handed to the cluster.
    received_bytes : int
        Results.
    """

    done_count: int = 0
    failed_count: int = 0
    lost_count: int = 0
    dropped_count: int = 0
    lost_worker_count: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0

    def __add__(self, other: ClusterCounts) -> ClusterCounts:
        """Add what was counted elsewhere."""
        names = [field.name for field in fields(self)]
        return ClusterCounts(*(getattr(self, name) + getattr(other, name) for name in names))


@dataclass(frozen=True, slots=True)
class ClusterState:
    """State of a cluster.

    Attributes
    ----------
    counts : ClusterCounts
    worker_count : int or None
        Workers now; None where the server has no connection, or its scheduler does not answer.
    """

    counts: ClusterCounts = ClusterCounts()
    worker_count: int | None = None
