"""Workers that were taken over and have a table in blocks: what ranges they get, and how many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hostile import hijacked
from onnxplain_server.adapters.cluster.confined_tasks import _opened, _TaskHost
from onnxplain_server.adapters.runner.blocks.ranged_file import MAX_RANGE
from onnxplain_server.adapters.runner.blocks.shared_files import shared_file
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.adapters.workers.ipc.channel import MalformedError
from onnxplain_server.adapters.workers.request_monitor import RequestMonitor
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

LOOK_COUNT = 1_000
RANGES = "ranges without end"


@dataclass
class Table:
    """A table that counts the reads between two looks at the clock, and the looks."""

    error: Exception | None = None
    reads: int = 0
    looks: int = 0
    counts: list[int] = field(default_factory=list)

    def __call__(self, file: int, start: int, length: int) -> bytes:
        assert (file, start) == (0, 0)
        if self.error is not None:
            raise self.error
        self.reads += 1
        return bytes(length)

    def look(self) -> bool:
        """Note the reads since the last look; True once the caller has gone."""
        self.counts.append(self.reads)
        self.reads, self.looks = 0, self.looks + 1
        return self.looks > LOOK_COUNT


def asked(table: Table, name: str) -> Exception:
    """Ask a worker that was taken over about a table in blocks; return how that ended."""
    cache = MemoryCache(0, Signer(b"a secret of the tests"))
    host = RequestContext(RequestControl(600, table.look), cache, "prefix:")
    exchange = replace(hijacked.EXCHANGE, read_range=table)
    with (
        hijacked.taken_over(name) as worker,
        pytest.raises((MalformedError, ExplainError)) as error,
    ):
        worker.ask(exchange, RequestMonitor(host, 600, lambda: None))
    assert not worker.is_usable
    return error.value


def test_ranges_without_end_are_read_one_by_one_until_the_caller_has_gone() -> None:
    table = Table()
    error = asked(table, RANGES)

    if isinstance(error, ExplainError):  # else by the rate of reads
        assert error.reason is Reason.CANCELLED
    assert max(table.counts) == 1


def test_a_range_that_no_file_has_is_malformed() -> None:
    assert isinstance(asked(Table(ValueError("no such range")), RANGES), MalformedError)


@pytest.mark.parametrize(
    "name", ["a range of two numbers", "a task for its parent", "a table that nobody asked for"]
)
def test_frames_out_of_turn_read_nothing(name: str) -> None:
    table = Table()

    assert isinstance(asked(table, name), MalformedError)
    assert not any(table.counts)


@pytest.fixture
def names_of(tmp_path: Path):
    """Ask the parent of a worker of a cluster for ranges of a file of 100 bytes, by their names."""
    path = tmp_path / "rows"
    path.write_bytes(bytes(range(100)))

    def ask(*names: str) -> Sequence[bytes | None]:
        with _opened([shared_file(path)]) as read_range:
            return _TaskHost("key", read_range).cache_get(names)

    return ask


def test_a_worker_of_a_cluster_reads_its_file_only(names_of) -> None:
    assert names_of("0:10:3", "0:99:2", "0:1000:1") == [bytes([10, 11, 12]), None, None]


@pytest.mark.parametrize(
    "name",
    [
        *("1:0:1", "0:0", "0:0:1:1", "-1:0:1", "0:-1:1", "0:0:-1", "0:a:1", "0: 1:1", "0:١:1", ""),
        *(f"0:{10**30}:1", f"0:{2**63}:1", f"{10**30}:0:1", f"0:0:{MAX_RANGE + 1}"),
        *("/etc/passwd", "0:0:" + "9" * 50),
    ],
)
def test_a_range_by_a_false_name_is_malformed(names_of, name: str) -> None:
    with pytest.raises(MalformedError):
        names_of(name)


def test_a_worker_of_a_cluster_stores_and_publishes_nothing() -> None:
    host = _TaskHost("key", lambda _file, _start, length: bytes(length))
    with pytest.raises(MalformedError):
        host.cache_put({"name": b"value"})
    with pytest.raises(MalformedError):
        host.publish(b"part")
    with pytest.raises(MalformedError):
        host.write_table([b"part"])
