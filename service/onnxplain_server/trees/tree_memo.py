"""Tree memo: what requests on one loaded model share of its trees: leaves, checked tables."""

from __future__ import annotations

import threading
from collections.abc import Callable

from cachetools import LRUCache

from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.refusal import Refusal

_VERDICT_COUNT = 64


class TreeMemo:
    """Memo of one loaded model, which must be consistent; safe for threads."""

    def __init__(self) -> None:
        self._leaves: Leaves | None = None
        self._verdicts: LRUCache[str, Refusal | None] = LRUCache(_VERDICT_COUNT)
        self._lock = threading.Lock()

    def leaves(self, ensemble: Ensemble) -> Leaves:
        """Return the leaves of the model's ensemble, which may differ in `matrix` and `offset`."""
        with self._lock:
            if self._leaves is None:
                self._leaves = Leaves(ensemble)
            return self._leaves

    def verdict(self, digest: str, check: Callable[[], Refusal | None]) -> Refusal | None:
        """Return the result of the check of the trees on rows of this digest, or check them."""
        with self._lock:
            if digest in self._verdicts:
                return self._verdicts[digest]
        verdict = check()
        with self._lock:
            self._verdicts[digest] = verdict
        return verdict
