"""Readiness watcher: polls whether the server is ready, and pushes changes to health checks."""

from __future__ import annotations

import threading
from collections.abc import Callable

_POLL_SECONDS = 0.2


class ReadinessWatcher:
    """Polls readiness on a thread and reports each change.

    Parameters
    ----------
    ready : callable () -> bool
    report : callable (ready) -> None
        Called once by the constructor, then from the thread.
    """

    def __init__(self, ready: Callable[[], bool], report: Callable[[bool], None]) -> None:
        self._ready = ready
        self._report = report
        self._stopped = threading.Event()
        self._reported = ready()
        report(self._reported)
        self._thread = threading.Thread(target=self._run, name="onnxplain-ready", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop polling; nothing is reported any more."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_POLL_SECONDS):
            if (ready := self._ready()) != self._reported:
                self._reported = ready
                self._report(ready)
