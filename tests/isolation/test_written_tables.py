"""Tables of rows that workers hand to their parent, which writes them as they come."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile import hijacked
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain_server.adapters.programs import warm_up
from onnxplain_server.adapters.workers.frame_server import FrameServer
from onnxplain_server.adapters.workers.ipc import payloads
from onnxplain_server.adapters.workers.ipc.channel import (
    FROM_PARENT,
    FROM_WORKER,
    Frame,
    FrameChannel,
    FrameKind,
)
from onnxplain_server.adapters.workers.ipc.frame_limits import TABLE_PART_BYTE_LIMIT
from onnxplain_server.adapters.workers.remote_host import RemoteHost
from onnxplain_server.adapters.workers.request_monitor import RequestMonitor
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.admission.follower import Follower
from onnxplain_server.transport.admission.request_context import RequestContext

ASKED = next(iter(warm_up.requests()))


class Store:
    """Store of one table; it may fail once a part has come."""

    def __init__(self, *, fails: bool = False) -> None:
        self.parts: list[bytes] = []
        self.is_whole = False
        self._fails = fails

    def write(self, parts: Iterable[bytes]) -> None:
        for part in parts:
            self.parts.append(part)
            if self._fails:
                raise ExplainError(Reason.SOURCE_FORBIDDEN, "no room", "result_uri")
        self.is_whole = True

    @property
    def table(self) -> pa.Table:
        return pq.read_table(io.BytesIO(b"".join(self.parts)))


def test_a_workers_table_is_that_of_the_same_code_in_this_process(
    isolated: Any, reference: Any, calls: Any
) -> None:
    ours, theirs = Store(), Store()
    reply = isolated.answer(
        Call(ServiceMethod.EXPLAIN, ASKED), calls(follower=Follower(write_table=ours.write))
    )
    reference.runner.answer(
        Call(ServiceMethod.EXPLAIN, ASKED), calls(follower=Follower(write_table=theirs.write))
    )

    assert ours.is_whole
    assert max(map(len, ours.parts)) <= TABLE_PART_BYTE_LIMIT
    assert ours.table.column_names == theirs.table.column_names
    for name in ours.table.column_names:
        assert ours.table[name].to_pylist() == pytest.approx(theirs.table[name].to_pylist())
    result = ExplainResponse.FromString(reply.content).explanations[0].attributions
    assert (result.explained_row_count, len(result.values)) == (1, 0)


def test_a_store_that_fails_on_the_way_is_told_and_the_next_request_answered(
    isolated: Any, calls: Any
) -> None:
    failing, store = Store(fails=True), Store()
    with pytest.raises(ExplainError) as refused:
        isolated.answer(
            Call(ServiceMethod.EXPLAIN, ASKED), calls(follower=Follower(write_table=failing.write))
        )
    isolated.answer(
        Call(ServiceMethod.EXPLAIN, ASKED), calls(follower=Follower(write_table=store.write))
    )

    assert (refused.value.reason, refused.value.field) == (Reason.SOURCE_FORBIDDEN, "result_uri")
    assert not failing.is_whole
    assert store.is_whole


@pytest.fixture
def ends() -> Iterator[tuple[FrameChannel, FrameChannel]]:
    """The worker's end, and the parent's."""
    near, far = socket.socketpair()
    worker, parent = FrameChannel(near, FROM_PARENT), FrameChannel(far, FROM_WORKER)
    yield worker, parent
    worker.close()
    parent.close()


def serve(parent: FrameChannel, host: RequestContext) -> None:
    """Serve the first frame of a worker, and those that belong to it."""
    monitor = RequestMonitor(host, 600, lambda: None)
    with FrameServer(parent, 1, monitor) as server:
        server.serve(server.receive())


def test_large_parts_go_in_several_frames_and_others_between_are_served(
    ends: tuple[FrameChannel, FrameChannel], calls: Any
) -> None:
    worker, parent = ends
    host, store, progress = RemoteHost(worker, 1), Store(), list[tuple[float, float]]()
    content = bytes(range(256)) * (3 * TABLE_PART_BYTE_LIMIT // 512)

    def parts() -> Iterator[bytes]:
        yield content
        host.advance(0, 7)
        yield b"end"

    follower = Follower(lambda *told: progress.append(told), write_table=store.write)
    thread = threading.Thread(target=host.write_table, args=(parts(),))
    thread.start()
    serve(parent, calls(follower=follower))
    thread.join()

    assert b"".join(store.parts) == content + b"end"
    assert [*map(len, store.parts)] == [TABLE_PART_BYTE_LIMIT, TABLE_PART_BYTE_LIMIT // 2, 3]
    assert (0, 7) in progress


def test_a_worker_that_fails_on_the_way_leaves_no_table(
    ends: tuple[FrameChannel, FrameChannel], calls: Any
) -> None:
    worker, parent = ends
    store, fault = Store(), ExplainError(Reason.OUT_OF_MEMORY, "too many rows")
    worker.send(Frame(FrameKind.TABLE_PART, 1, b"PAR1"))
    worker.send(Frame(FrameKind.REFUSED, 1, payloads.pack_error(fault)))

    with pytest.raises(ExplainError, match="too many rows"):
        serve(parent, calls(follower=Follower(write_table=store.write)))

    assert not store.is_whole


def test_a_worker_that_refuses_amid_its_table_is_kept(calls: Any) -> None:
    store = Store()
    monitor = RequestMonitor(calls(follower=Follower(write_table=store.write)), 600, lambda: None)
    with hijacked.taken_over("a refusal amid its table") as worker:
        with pytest.raises(ExplainError, match="too many rows"):
            worker.ask(hijacked.EXCHANGE, monitor)

        assert worker.is_usable
    assert (store.parts, store.is_whole) == ([b"PAR1"], False)
