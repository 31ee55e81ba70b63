"""Tables of rows that are written while others compute."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.request import ReplyFormat, RequestParts
from onnxplain_server.transport.admission.admission import Caller, RequestLimits
from onnxplain_server.transport.admission.follower import NOBODY, Follower
from onnxplain_server.transport.admission.request_control import RequestControl
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.service import Service
from onnxplain_server.transport.written_results import WrittenResults

from tools.waiting import PATIENCE_SECONDS

TABLE = ExplainRequest(result_uri="s3://results/rows.parquet").SerializeToString()


class Store:
    """A store that takes a table once it may."""

    def __init__(self) -> None:
        self.is_asked, self.may_write = threading.Event(), threading.Event()
        self.parts: list[bytes] = []

    def check_writable(self, uri: str) -> None:
        assert uri == "s3://results/rows.parquet"

    def write_parts(self, _uri: str, parts: Iterable[bytes], control: Any) -> None:
        self.is_asked.set()
        while not self.may_write.wait(0.01):
            control.check("while the store waited")
        self.parts += parts


def test_while_a_store_takes_its_time_for_a_table_others_compute(make_runner: Any) -> None:
    def work(host: Any) -> None:
        if runner.requests[-1].result_uri:
            host.write_table(iter([b"PAR1"]))

    runner, store = make_runner(work), Store()
    sources: Any = store
    service = Service(
        runner,
        MemoryCache(0, Signer(b"")),
        MemoryBlobs(0, 1),
        decoder=LocalDecoder(),
        limits=RequestLimits(1, 1, math.inf),
        scheduler=Scheduler(1, 1),
        metrics=Metrics(),
        sources=sources,
    )

    def explain(message: bytes, seconds: float) -> object:
        with service.admit(Caller("ada", seconds, lambda: False)) as ticket:
            return service.explain(RequestParts(message), ticket, ReplyFormat.PROTOBUF)

    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(explain, TABLE, PATIENCE_SECONDS)
        assert store.is_asked.wait(PATIENCE_SECONDS)
        try:
            assert explain(b"", PATIENCE_SECONDS / 2)
            assert not store.parts
        finally:
            store.may_write.set()
        assert writing.result()
    assert store.parts == [b"PAR1"]


def test_workers_that_wait_for_a_store_without_a_slot_are_limited() -> None:
    """Each holds its memory, which the slots bound else."""
    slots: list[str] = []

    class Nested(Store):
        def write_parts(self, _uri: str, parts: Iterable[bytes], _control: Any) -> None:
            slots.append(b"".join(parts).decode())

    sources: Any = Nested()
    results = WrittenResults(sources, 1)

    def writer(name: str) -> Follower:
        @contextmanager
        def release() -> Iterator[None]:
            slots.append(f"{name} releases")
            yield
            slots.append(f"{name} takes")

        control = RequestControl(math.inf)
        control.release_slot = release
        return results.followed(NOBODY, TABLE, control)

    def first_parts() -> Iterator[bytes]:
        writer("second").write_table([b"second"])
        yield b"first"

    writer("first").write_table(first_parts())
    writer("third").write_table([b"third"])

    assert slots == [
        *("first releases", "second", "first", "first takes"),
        *("third releases", "third", "third takes"),
    ]
