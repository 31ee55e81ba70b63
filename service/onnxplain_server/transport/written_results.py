"""Answers that are also written to an address, where a request asks for it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import Reply, ReplyFormat
from onnxplain_server.core.sources import Sources
from onnxplain_server.transport.admission.follower import Follower
from onnxplain_server.transport.admission.request_control import RequestControl
from onnxplain_server.wire.protobuf_split import response_of_event, result_uri
from onnxplain_server.wire.result_tables.table_check import names_table


class WrittenResults:
    """Writes answers to `ExplainRequest.result_uri`.

    Parameters
    ----------
    sources : Sources
    table_count : int
        Tables of rows that are written at a time without a slot: each keeps the memory of its
        worker, which hands over the rows as the store takes them. By default, one.
    """

    def __init__(self, sources: Sources, table_count: int = 1) -> None:
        self._sources = sources
        self._tables = threading.Semaphore(table_count)

    def check(self, request: bytes) -> None:
        """Raise before the computation where the answer may not be written to its address."""
        if target := result_uri(request):
            self._sources.check_writable(target)

    def checked(self, call: Call) -> Call:
        """Return a request, unless its answer may not be written to its address."""
        self.check(call.request)
        return call

    def followed(self, follower: Follower, request: bytes, control: RequestControl) -> Follower:
        """Return a follower that also writes the table of the answer's rows, if one is asked for.

        The first part of a table comes once all rows are computed, so others compute meanwhile.

        Raises
        ------
        ExplainError
            Before the computation where the result may not be written to its address.
        """
        self.check(request)
        target = result_uri(request)
        if not names_table(target):
            return follower

        def write_table(parts: Iterable[bytes]) -> None:
            with self._slot_released(control):
                self._sources.write_parts(target, parts, control)

        return follower._replace(write_table=write_table)

    def write(
        self, request: bytes, reply: Reply, reply_format: ReplyFormat, control: RequestControl
    ) -> None:
        """Write a whole answer, if its request asks for it; others compute meanwhile."""
        target = result_uri(request)
        if not target or names_table(target):
            return
        content = reply.content
        if reply_format is ReplyFormat.EVENT:
            content = response_of_event(content)
        with control.release_slot():
            self._sources.write(target, content, control)

    @contextmanager
    def _slot_released(self, control: RequestControl) -> Iterator[None]:
        """Release the slot while a table is written, unless as many others have theirs released."""
        if not self._tables.acquire(blocking=False):
            yield
            return
        try:
            with control.release_slot():
                yield
        finally:
            self._tables.release()
