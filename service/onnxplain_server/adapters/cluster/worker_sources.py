"""Files by their URIs, read by a worker of the cluster, below the prefixes of its own list.

The list is that of a server, in the file that Dask's setting `onnxplain.sources-file` names, as by
the variable DASK_ONNXPLAIN__SOURCES_FILE.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import dask
from onnxplain.v1.table_pb2 import Table, TableUris

from onnxplain_server.adapters.network_processes.list_file import ListError
from onnxplain_server.adapters.sources.fetcher import Fetcher
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.sources import FileRanges, SourceBlocks
from onnxplain_server.core.systems.memory import machine_bytes
from onnxplain_server.trees.streaming.workers import SharedFile

LOG = logging.getLogger(__name__)

SETTING = "onnxplain.sources-file"

_lock = threading.Lock()
_fetcher: Fetcher | None = None


def are_addresses(files: Sequence[SharedFile]) -> bool:
    """Return whether files are named by URIs, and not by paths."""
    return not files[0].path.startswith("/")


@contextmanager
def reading(files: Sequence[SharedFile]) -> Iterator[FileRanges]:
    """Read ranges of files of these versions; SOURCE_NOT_LISTED where this worker may not."""
    message = Table(uris=TableUris(uris=[file.path for file in files])).SerializeToString()
    versions = tuple((file.path, file.byte_count, file.tail) for file in files)
    blocks = SourceBlocks(message, (), versions)
    with _opened().reading(blocks.pack(), _Endless()) as read_range:
        yield read_range


def _opened() -> Fetcher:
    global _fetcher  # noqa: PLW0603 - one process for each worker, as Dask calls functions only
    path = dask.config.get(SETTING, None)
    if not path:
        raise ExplainError(
            Reason.SOURCE_NOT_LISTED,
            "the workers of the cluster read no addresses: their operator names no list of "
            "prefixes, in the variable DASK_ONNXPLAIN__SOURCES_FILE of each worker",
            "table.uris",
        )
    with _lock:
        if _fetcher is None:
            try:
                _fetcher = Fetcher(Path(path), machine_bytes(), is_confined=False)
            except ListError as error:
                # Its text is for the operator, and has paths.
                LOG.error("the list of prefixes: %s", error)  # noqa: TRY400 - no traceback
                message = (
                    "a worker of the cluster cannot read its list of prefixes; tell the operator: "
                    "its log has the cause"
                )
                raise ExplainError(Reason.SOURCE_UNAVAILABLE, message, "table.uris") from None
        return _fetcher


class _Endless:
    """`FetchControl` of a task, which takes seconds: its sums are dropped where nobody waits."""

    deadline = float("inf")

    def check(self, when: str) -> None:
        """Do nothing."""
