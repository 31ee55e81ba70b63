"""Models that killed their workers: refused for a while, before they burn one after another."""

from __future__ import annotations

import threading

from cachetools import TTLCache

from onnxplain_server.core.errors import ExplainError, Reason

_SUBJECT_COUNT = 10_000
_CRASH_COUNT = 2


class Quarantine:
    """Counts crashes by model key (see `RequestHost`); safe for threads.

    Parameters
    ----------
    seconds : float
        How long a crash is remembered.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._crashes: TTLCache[str, int] = TTLCache(_SUBJECT_COUNT, seconds)
        self._lock = threading.Lock()

    def check(self, model_key: str) -> None:
        """Raise MODEL_QUARANTINED where it crashed twice, without an answer between."""
        with self._lock:
            count = self._crashes.get(model_key, 0)
        if count >= _CRASH_COUNT:
            raise ExplainError(
                Reason.MODEL_QUARANTINED,
                f"this model crashed the process that evaluated it {count} times; "
                f"it is refused for up to {self._seconds:g} s",
                "model",
            )

    def crashed(self, model_key: str) -> None:
        """Count a crash."""
        with self._lock:
            self._crashes[model_key] = self._crashes.get(model_key, 0) + 1

    def answered(self, model_key: str) -> None:
        """Forget the crashes: the model is not what causes them."""
        with self._lock:
            self._crashes.pop(model_key, None)
