"""Remote host: the frames that a computation in a worker sends to its parent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from onnxplain_server.adapters.workers import remote_host
from onnxplain_server.adapters.workers.frame_server import FrameServer
from onnxplain_server.adapters.workers.ipc import frame_limits as limits
from onnxplain_server.adapters.workers.ipc import payloads
from onnxplain_server.adapters.workers.ipc.channel import (
    FROM_PARENT,
    FROM_WORKER,
    Frame,
    FrameChannel,
    FrameKind,
)
from onnxplain_server.adapters.workers.remote_host import RemoteHost
from onnxplain_server.adapters.workers.request_monitor import RequestMonitor
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.spans import Spans


@pytest.fixture
def ends() -> Iterator[tuple[FrameChannel, FrameChannel]]:
    """The worker's end, and the parent's."""
    near, far = socket.socketpair()
    ours, theirs = FrameChannel(near, FROM_PARENT), FrameChannel(far, FROM_WORKER)
    yield ours, theirs
    ours.close()
    theirs.close()


def heard(parent: FrameChannel) -> list[Frame]:
    frames = [parent.receive()]
    while parent.has_more():
        frames.append(parent.receive())
    return frames


def test_what_is_remembered_goes_in_one_frame_before_the_next_one(
    ends: tuple[FrameChannel, FrameChannel],
) -> None:
    worker, parent = ends
    host = RemoteHost(worker, 7)

    for name in "abc":
        host.cache_put({name: name.encode() * 3})
    assert not parent.has_more()
    host.advance(0, 100)

    first, second = heard(parent)
    assert (first.kind, first.call) == (FrameKind.CACHE_PUT, 7)
    assert payloads.unpack_entries(first.payload) == {"a": b"aaa", "b": b"bbb", "c": b"ccc"}
    assert second.kind is FrameKind.PROGRESS


def test_what_is_remembered_last_goes_with_the_answer(
    ends: tuple[FrameChannel, FrameChannel],
) -> None:
    worker, parent = ends
    host = RemoteHost(worker, 1)
    host.cache_put({"a": b"1"})

    host.flush()
    worker.send(Frame(FrameKind.ANSWERED, 1, b""))

    assert [frame.kind for frame in heard(parent)] == [FrameKind.CACHE_PUT, FrameKind.ANSWERED]


def test_a_load_that_failed_is_over_when_the_request_goes_on(
    ends: tuple[FrameChannel, FrameChannel], make
) -> None:
    """Such as of a margin that a model does not have: what follows is no loading."""
    worker, parent = ends
    host, spans = RemoteHost(worker, 1), Spans()
    with suppress(ExplainError), host.loading():
        raise ExplainError(Reason.INVALID_MODEL, "the model has no margin")
    worker.send(Frame(FrameKind.ANSWERED, 1, b""))

    with spans.collecting():
        monitor = RequestMonitor(make.host(), 0, lambda: None)
        server = FrameServer(parent, 1, monitor)
        begun, ended = server.receive(), server.receive()
        server.serve(begun)
        with pytest.raises(ExplainError, match="loading the model took longer"):
            monitor.tick()
        server.serve(ended)
        monitor.tick()

    assert [span.attributes for span in spans.finished()] == [{"error": "NOT_LOADED"}]


def test_frames_stay_within_their_limit(
    ends: tuple[FrameChannel, FrameChannel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "VALUE_BYTE_LIMIT", 90)
    monkeypatch.setattr(remote_host, "FROM_WORKER", {**FROM_WORKER, FrameKind.CACHE_PUT: 100})
    worker, parent = ends
    host = RemoteHost(worker, 1)

    for name, size in (("a", 40), ("b", 40), ("large", 100), ("c", 10)):
        host.cache_put({name: bytes(size)})
    host.flush()
    worker.send(Frame(FrameKind.FLIGHT_LEAVE, 1))

    *frames, _ = heard(parent)
    assert [list(payloads.unpack_entries(each.payload)) for each in frames] == [["a"], ["b", "c"]]


def test_no_frame_has_more_entries_than_are_allowed(
    ends: tuple[FrameChannel, FrameChannel],
) -> None:
    worker, parent = ends
    host = RemoteHost(worker, 1)

    host.cache_put({str(i): b"" for i in range(limits.NAME_COUNT_LIMIT + 1)})
    host.flush()
    worker.send(Frame(FrameKind.FLIGHT_LEAVE, 1))

    *frames, _ = heard(parent)
    counts = [len(payloads.unpack_entries(each.payload)) for each in frames]
    assert counts == [limits.NAME_COUNT_LIMIT, 1]


def test_what_a_request_may_not_store_is_dropped(
    ends: tuple[FrameChannel, FrameChannel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PUT_BYTE_LIMIT", 3 * limits.ENTRY_BYTES)
    worker, parent = ends
    host = RemoteHost(worker, 1)

    host.cache_put({"a": b"1", "b": bytes(2 * limits.ENTRY_BYTES), "c": b"3"})
    host.flush()
    worker.send(Frame(FrameKind.FLIGHT_LEAVE, 1))

    assert list(payloads.unpack_entries(heard(parent)[0].payload)) == ["a", "c"]


def test_names_beyond_a_reply_are_asked_for_again(
    ends: tuple[FrameChannel, FrameChannel],
) -> None:
    """The parent replies for the first names only; a name that comes twice is sent once."""
    worker, parent = ends
    host = RemoteHost(worker, 1)
    asked: list[list[str]] = []

    def reply() -> None:
        for count in (1, 2):
            names = payloads.unpack_names(parent.receive().payload)
            asked.append(names)
            values = payloads.pack_values([name.encode() for name in names[:count]])
            parent.send(Frame(FrameKind.CACHE_VALUES, 1, values))

    thread = threading.Thread(target=reply)
    thread.start()
    values = host.cache_get(["a", "b", "a", "c"])
    thread.join()

    assert values == [b"a", b"b", b"a", b"c"]
    assert asked == [["a", "b", "c"], ["b", "c"]]
