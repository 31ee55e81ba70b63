"""Remote host: the frames that a computation in a worker sends to its parent."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from onnxplain_server.adapters.workers import remote_host
from onnxplain_server.adapters.workers.ipc import payloads
from onnxplain_server.adapters.workers.ipc.channel import Frame, FrameChannel, FrameKind
from onnxplain_server.adapters.workers.remote_host import RemoteHost


@pytest.fixture
def ends() -> Iterator[tuple[FrameChannel, FrameChannel]]:
    """The worker's end, and the parent's."""
    ours, theirs = (FrameChannel(end) for end in socket.socketpair())
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
    worker.send(Frame(FrameKind.ANSWERED, 1, payloads.pack_length(0)))

    assert [frame.kind for frame in heard(parent)] == [FrameKind.CACHE_PUT, FrameKind.ANSWERED]


def test_frames_stay_within_their_limit(
    ends: tuple[FrameChannel, FrameChannel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_host, "PAYLOAD_BYTE_LIMIT", 100)
    worker, parent = ends
    host = RemoteHost(worker, 1)

    for name, size in (("a", 40), ("b", 40), ("large", 100), ("c", 10)):
        host.cache_put({name: bytes(size)})
    host.flush()
    worker.send(Frame(FrameKind.FLIGHT_LEAVE, 1))

    *frames, _ = heard(parent)
    assert [list(payloads.unpack_entries(each.payload)) for each in frames] == [["a"], ["b", "c"]]
