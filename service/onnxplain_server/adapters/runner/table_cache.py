"""LRU cache of uploaded tables, parsed: small ones are read once for several requests."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from cachetools import LRUCache
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1 import table_pb2

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.interfaces import Blobs
from onnxplain_server.core.table import Table
from onnxplain_server.wire import table
from onnxplain_server.wire.blobs import identify
from onnxplain_server.wire.csv_table import CsvTexts
from onnxplain_server.wire.protobuf_split import TableFile

_BYTE_LIMIT = 4 * 2**20
"""Of all cached tables. Parsing a larger one is cheap compared with explaining it."""


class TableCache:
    """Reader of tables with an LRU cache; safe for threads."""

    def __init__(self) -> None:
        self._tables: LRUCache[tuple[str, str], Table] = LRUCache(_BYTE_LIMIT, _table_bytes)
        self._lock = threading.Lock()
        self._digests = ThreadPoolExecutor(1, thread_name_prefix="digest")

    def read_sent(
        self, message: service_pb2.ExplainRequest, blobs: Blobs, file: TableFile | None = None
    ) -> tuple[Table | None, Callable[[], str]]:
        """Read the table of a request, None where it has none, while its digest is computed.

        Parameters
        ----------
        file : TableFile or None
            The table's file, if it was detached from the message.

        Returns
        -------
        table : Table or None
        digest : callable () -> str
            Waits for the digest, which is the table's id if it were uploaded.
        """
        if file is not None:
            digest = self._digests.submit(identify, file.content)
            return table.read_file(file.form, file.content), digest.result
        given = message.table
        if given.id:
            return self.read(given, blobs), lambda: given.id
        digest = self._digests.submit(identify, table.content(given))
        rows = table.read(given, blobs) if message.HasField("table") else None
        return rows, digest.result

    def close(self) -> None:
        """Shut the thread of the digests down."""
        self._digests.shutdown()

    def read(self, message: table_pb2.Table, blobs: Blobs) -> Table:
        """Read a table through the cache; arguments and errors are those of `wire.table.read`."""
        blob = blobs.get(message.id)
        if blob is None:
            return table.read(message, blobs)
        key = (message.id, blob.form)
        with self._lock:
            cached = self._tables.get(key)
        if cached is None:
            cached = table.read(message, blobs)
            self._store(key, cached)
        return cached

    def _store(self, key: tuple[str, str], parsed: Table) -> None:
        """Cache a table that is not too large, and make it read-only."""
        if _table_bytes(parsed) > _BYTE_LIMIT:
            return
        for column in parsed.stored.values():
            column.flags.writeable = False
        if isinstance(parsed.texts, CsvTexts):  # the content is the request's
            parsed = replace(parsed, texts=parsed.texts.copy())
        with self._lock:
            self._tables[key] = parsed


def _table_bytes(parsed: Table) -> int:
    file_bytes = parsed.texts.size if isinstance(parsed.texts, CsvTexts) else 0
    return file_bytes + sum(map(_column_bytes, parsed.stored.values()))


def _column_bytes(column: Array) -> int:
    text_bytes = sum(map(sys.getsizeof, column)) if column.dtype == object else 0
    return column.nbytes + text_bytes
