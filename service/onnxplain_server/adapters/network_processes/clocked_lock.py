"""Lock that is waited for until a request's deadline, where another request starts a process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from onnxplain_server.core.sources import FetchControl

_STEP_SECONDS = 0.05


@contextmanager
def held(lock: threading.Lock, control: FetchControl) -> Iterator[None]:
    """Hold a lock; raises what `FetchControl.check` does while another holds it."""
    while not lock.acquire(timeout=_STEP_SECONDS):
        control.check("while a process started that another request needs, too")
    try:
        yield
    finally:
        lock.release()
