"""Quarantine of models that crash their workers: refused for a while after two crashes."""

from __future__ import annotations

import threading

from cachetools import TTLCache

from onnxplain_server.core.errors import ExplainError, Reason

_MODEL_COUNT = 10_000
_CRASH_COUNT = 2


class Quarantine:
    """Counts crashes by model key (see `RequestHost`); safe for threads.

    Parameters
    ----------
    seconds : float
        Time for which a crash counts.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._crashes: TTLCache[str, int] = TTLCache(_MODEL_COUNT, seconds)
        self._lock = threading.Lock()

    def check(self, model_key: str) -> None:
        """Raise MODEL_QUARANTINED after two crashes without an answer in between."""
        with self._lock:
            count = self._crashes.get(model_key, 0)
        if count >= _CRASH_COUNT:
            raise ExplainError(
                Reason.MODEL_QUARANTINED,
                f"this model crashed the process that evaluated it {count} times; "
                f"it is refused for up to {self._seconds:g} s",
                "model",
            )

    def record_crash(self, model_key: str) -> None:
        """Count a crash."""
        with self._lock:
            self._crashes[model_key] = self._crashes.get(model_key, 0) + 1

    def release(self, model_key: str) -> None:
        """Forget the crashes: the model is not their cause."""
        with self._lock:
            self._crashes.pop(model_key, None)
