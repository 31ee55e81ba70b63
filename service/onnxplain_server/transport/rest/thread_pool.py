"""Thread pool of the REST server: threads start when requests need them, up to a limit."""

from __future__ import annotations

from typing import Any

from waitress.task import ThreadedTaskDispatcher


class GrowingThreadPool(ThreadedTaskDispatcher):  # type: ignore[misc] # waitress ships no types
    """Dispatcher of waitress that starts a thread only for a task that finds none idle.

    Parameters
    ----------
    thread_limit : int
        Most threads; further tasks wait for one.
    """

    def __init__(self, thread_limit: int) -> None:
        super().__init__()
        self._thread_limit = thread_limit

    def add_task(self, task: Any) -> None:
        """Queue a task."""
        with self.lock:
            self.queue.append(task)
            self.queue_cv.notify()
            count = len(self.threads) - self.stop_count
            is_needed = len(self.queue) > count - self.active_count
        if is_needed and count < self._thread_limit:
            self.set_thread_count(count + 1)

    def shutdown(self, cancel_pending: bool = True, timeout: float = 5) -> bool:
        """End the threads, and start no more."""
        self._thread_limit = 0
        return bool(super().shutdown(cancel_pending, timeout))
