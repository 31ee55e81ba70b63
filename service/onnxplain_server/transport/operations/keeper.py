"""Keeper of what an attempt at an operation gives on its way: the plan, and parts of the answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from onnxplain_server.core.operation_store import Claim, OperationStore, OperationStoreError
from onnxplain_server.wire.kept_parts import split_part

LOG = logging.getLogger(__name__)

PART_BYTES = 3 * 2**20
"""Largest part that is kept: gRPC clients take messages of 4 MiB by default."""

PARTS_BYTES = 16 * 2**20
"""Most bytes of the latest parts of one attempt together."""


class Keeper:
    """Stores plan and parts under one claim; of parts, on a thread of its own, the latest of each.

    Parameters
    ----------
    store : OperationStore
    claim : Claim
    """

    def __init__(self, store: OperationStore, claim: Claim) -> None:
        self._store = store
        self._claim = claim
        self._waiting: dict[int, bytes] = {}
        self._sizes: dict[int, int] = {}
        self._changed = threading.Condition()
        self._is_over = False
        self._thread: threading.Thread | None = None

    def keep_plan(self, plan: bytes) -> None:
        """Store the plan; without an answer of the store, there is none."""
        try:
            self._store.keep_plan(self._claim, plan)
        except OperationStoreError as error:
            LOG.info("the plan of operation %s is not kept: %s", self._claim.operation.id, error)

    def take(self, part: bytes) -> None:
        """Take part of the answer, as a worker publishes it; drop it if it is too large."""
        split = split_part(part)
        if split is None:
            return
        index, content = split
        with self._changed:
            others = sum(size for other, size in self._sizes.items() if other != index)
            if len(content) > PART_BYTES or others + len(content) > PARTS_BYTES:
                LOG.info("a part of operation %s is too large", self._claim.operation.id)
                return
            self._sizes[index] = len(content)
            self._waiting[index] = content
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="onnxplain-parts", daemon=True
                )
                self._thread.start()

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Store parts meanwhile; at the end, those that wait."""
        try:
            yield
        finally:
            with self._changed:
                self._is_over = True
                self._changed.notify()
            if self._thread is not None:
                self._thread.join()

    def _run(self) -> None:
        while (waiting := self._next()) is not None:
            try:
                self._store.keep_part(self._claim, *waiting)
            except OperationStoreError as error:
                LOG.info("a part of operation %s is not kept: %s", self._claim.operation.id, error)

    def _next(self) -> tuple[int, bytes] | None:
        """Wait for a part; None after the last one."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_over)
            return self._waiting.popitem() if self._waiting else None
