"""Counter of what a cluster does, over all connections to it; thread-safe."""

from __future__ import annotations

import threading

from onnxplain_server.core.counts.cluster_counts import ClusterCounts


class ClusterCounter:
    """Counter of tasks, lost workers and bytes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = ClusterCounts()

    @property
    def counts(self) -> ClusterCounts:
        """Counts so far."""
        with self._lock:
            return self._counts

    def add(self, counts: ClusterCounts) -> None:
        """Add to them."""
        with self._lock:
            self._counts += counts
