"""Tables of this machine that requests name by URI and that are read in blocks."""

from __future__ import annotations

from pathlib import Path

from onnxplain.v1.table_pb2 import Table

from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.sources.canonical_uri import canonical
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call, RunnerHost
from onnxplain_server.core.memory import default_memory_bytes
from onnxplain_server.core.request import Reply, ServiceMethod
from onnxplain_server.core.systems.paths import local_path
from onnxplain_server.trees.streaming.row_blocks import LargeTable
from onnxplain_server.trees.streaming.workers import Workers

_LOCAL = "file:///"
_DONE = {
    ServiceMethod.PLAN: "planned",
    ServiceMethod.DESCRIBE_TABLE: "described",
    ServiceMethod.PREDICT: "predicted",
    ServiceMethod.CHECK: "checked",
}
"""What is refused, in words."""


class LargeTables:
    """Finder of tables that are read in blocks.

    Parameters
    ----------
    memory_bytes : int or None
        Tables of files that would need more are read in blocks; None: no table is.
    workers : Workers or None
        They read tables of files in blocks, whatever their size.
    """

    def __init__(self, memory_bytes: int | None = None, workers: Workers | None = None) -> None:
        self._memory_bytes = memory_bytes
        self._workers = workers

    def find(self, table: Table) -> LargeTable | None:
        """Return the table of one Parquet or Arrow file of this machine, if it is read in blocks.

        Raises
        ------
        ExplainError
            INVALID_TABLE.
        """
        path = _path(table)
        if path is None or (self._memory_bytes is None and self._workers is None):
            return None
        from onnxplain_server.adapters.runner.blocks.table_blocks import large_table

        return large_table(path, self._memory_bytes or default_memory_bytes(), self._workers)


class LargeTableRunner:
    """`Runner` for one table that is read in blocks.

    Parameters
    ----------
    runner : InProcess
    table : LargeTable
    """

    def __init__(self, runner: InProcess, table: LargeTable) -> None:
        self._runner = runner
        self._table = table

    def answer(self, call: Call, host: RunnerHost) -> Reply:
        """Answer a request to explain without its table, refuse others; see `Runner.answer`."""
        if call.method is not ServiceMethod.EXPLAIN:
            raise not_in_blocks(_DONE[call.method])
        return self._runner.answer(call, host, self._table)


def not_in_blocks(done: str) -> ExplainError:
    """Return the error for what cannot be done with a table that is read in blocks."""
    return ExplainError(
        Reason.INVALID_REQUEST,
        f"a table that is read in blocks cannot be {done}; use a client without memory_bytes and "
        "executor",
        "table",
    )


def _path(table: Table) -> Path | None:
    """Return the file that a table names, without conditions on its rows."""
    if len(table.uris.uris) != 1 or table.uris.filters:
        return None
    uri = table.uris.uris[0]
    if not uri.startswith(_LOCAL):
        return None
    path = local_path(canonical(uri, "table.uris", tells_files=True).segments)
    return path if path.is_file() else None
