"""Tables that were uploaded: small ones are read once for several requests."""

from __future__ import annotations

import sys
import threading

from cachetools import LRUCache
from onnxplain.v1 import table_pb2

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.interfaces import Blobs
from onnxplain_server.core.table import Table
from onnxplain_server.wire import table

_MOST_BYTES = 4 * 2**20
"""Of all that are kept. Reading a larger one takes little beside what is done with it."""


class TableCache:
    """Reads tables, and keeps the last ones; safe for threads."""

    def __init__(self) -> None:
        self._tables: LRUCache[tuple[str, str], Table] = LRUCache(_MOST_BYTES, _table_bytes)
        self._lock = threading.Lock()

    def read(self, message: table_pb2.Table, blobs: Blobs) -> Table:
        """Read a table, or take the one kept: see `wire.table.read`."""
        blob = blobs.get(message.id)
        if blob is None:
            return table.read(message, blobs)
        key = (message.id, blob.form)
        with self._lock:
            kept = self._tables.get(key)
        if kept is None:
            kept = table.read(message, blobs)
            self._keep(key, kept)
        return kept

    def _keep(self, key: tuple[str, str], read: Table) -> None:
        """Keep a table that is not too large; nobody can write to it from now on."""
        if _table_bytes(read) > _MOST_BYTES:
            return
        for column in read.columns.values():
            column.flags.writeable = False
        with self._lock:
            self._tables[key] = read


def _table_bytes(read: Table) -> int:
    return sum(map(_column_bytes, read.columns.values()))


def _column_bytes(column: Array) -> int:
    texts = sum(map(sys.getsizeof, column)) if column.dtype == object else 0
    return column.nbytes + texts
