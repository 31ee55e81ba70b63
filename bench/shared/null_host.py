"""Null host: no cache, no progress, no results but answers, so that only computation is timed."""

from __future__ import annotations

from collections.abc import Iterable

from onnxplain_server.core.interfaces import Host


class NullHost(Host):
    """Implements `AnswerHost`."""

    def publish(self, part: bytes) -> None: ...

    def write_table(self, _parts: Iterable[bytes]) -> None:
        """Refuse: nothing is written."""
        raise NotImplementedError
