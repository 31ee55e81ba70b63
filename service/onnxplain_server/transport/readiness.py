"""Telling whoever watches, as gRPC's health does, what others ask for again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable

_LOOK_SECONDS = 0.2


class ReadinessWatcher:
    """Looks whether the server is ready, in a thread, and tells each change.

    Parameters
    ----------
    ready : callable () -> bool
    tell : callable (ready) -> None
        Called once at the start, then from the thread.
    """

    def __init__(self, ready: Callable[[], bool], tell: Callable[[bool], None]) -> None:
        self._ready = ready
        self._tell = tell
        self._stopped = threading.Event()
        self._told = ready()
        tell(self._told)
        self._thread = threading.Thread(target=self._run, name="onnxplain-ready", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Tell nothing any more."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_LOOK_SECONDS):
            if (found := self._ready()) != self._told:
                self._told = found
                self._tell(found)
