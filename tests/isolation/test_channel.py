"""Protocol errors: a worker that sends anything malformed is killed, and nothing else happens."""

from __future__ import annotations

import json
import mmap
import os
import random
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.adapters.workers.ipc import arena, arena_reply, arena_request, payloads
from onnxplain_server.adapters.workers.ipc import frame_limits as limits
from onnxplain_server.adapters.workers.ipc.channel import (
    FROM_WORKER,
    ClosedError,
    Frame,
    FrameChannel,
    FrameKind,
    MalformedError,
)
from onnxplain_server.adapters.workers.request_monitor import RequestMonitor
from onnxplain_server.adapters.workers.worker_process import Worker, WorkerRequest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ReplyFormat, ServiceMethod
from onnxplain_server.telemetry.spans import Span

HEADER = struct.Struct("<4sHxxIQ")
ARENA_BYTES = 2**16


def header(kind: int = 25, call: int = 1, length: int = 0, magic: bytes = b"ONXW") -> bytes:
    return HEADER.pack(magic, kind, call, length)


def refusal(*texts: bytes) -> bytes:
    payload = payloads.pack_values(texts)
    return header(kind=24, length=len(payload)) + payload


def watch(host) -> RequestMonitor:
    return RequestMonitor(host, 10, lambda: None)


@pytest.fixture
def fake() -> Iterator[Any]:
    """A worker whose other end is a function of the test."""
    threads: list[threading.Thread] = []
    made: list[Worker] = []
    # The process that signals reach.
    process = subprocess.Popen(["sleep", "infinity"])

    def make(behave: Callable[[socket.socket], None]) -> Worker:
        ours, theirs = socket.socketpair()
        file = arena.create(ARENA_BYTES)
        handle = os.pidfd_open(process.pid)

        def run() -> None:
            with theirs:
                theirs.recv(1_000)
                behave(theirs)

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        made.append(Worker(0, handle, ours, arena.Arena(file, ARENA_BYTES)))
        os.close(file)
        return made[-1]

    yield make
    for worker in made:
        worker.close()
    for thread in threads:
        thread.join()
    process.kill()
    process.wait()


NOTHING: tuple[object, ...] = ([], 0, 0, 0, 0)
"""Work of a reply: methods and counts."""

EXCHANGE = WorkerRequest(
    FrameKind.CALL,
    lambda arena: arena_request.pack(arena, Call(ServiceMethod.EXPLAIN, b"request")),
    partial(arena_reply.unpack_reply, reply_format=ReplyFormat.JSON, byte_limit=ARENA_BYTES - 1),
)


def answered(value: object) -> bytes:
    """Frame of an answer with this header."""
    payload = json.dumps(value).encode()
    return header(length=len(payload)) + payload


@pytest.mark.parametrize(
    "reply",
    [
        header(magic=b"HTTP"),
        header(kind=77),
        header(kind=1),
        header(kind=5),
        header(call=2) + b"",
        header(length=2**63),
        header(length=3) + b"abc",
        answered([-1, *NOTHING]),
        answered([ARENA_BYTES + 1, *NOTHING]),
        answered([ARENA_BYTES, *NOTHING]),
        answered([0, *NOTHING]),
        answered([True, *NOTHING]),
        answered([1.0, *NOTHING]),
        answered([1, ["a method of its own"], 0, 0, 0, 0]),
        answered([1, ["interactions", "average_loss"], 0, 0, 0, 0]),
        answered([1, ["swarm", "swarm"], 0, 0, 0, 0]),
        answered([1, "interactions", 0, 0, 0, 0]),
        answered([1, [["interactions"]], 0, 0, 0, 0]),
        answered([1, ["interactions"], 0, -1, 0, 0]),
        answered([1, ["interactions"], 0, "1", 0, 0]),
        answered([1, ["interactions"], 0, 0, True, 0]),
        answered([1, ["interactions"], 0, 0, 0, float("nan")]),
        answered([1, ["interactions"], 0, 0, 0]),
        answered({"size": 1}),
        header(length=2_000) + b"[" * 2_000,
        refusal(b"NO", b"a", b""),
        refusal(b"CANCELLED", b"\xff", b""),
        refusal(b"CANCELLED", b"a"),
        refusal(b"CANCELLED", b"a", b"", b""),
        refusal(b"INTERNAL", b"a line of the log", b""),
        refusal(b"WORKER_DIED", b"a", b""),
        header(kind=24, length=4_097),
        header(kind=17, length=1) + b"a",
        header(kind=19, length=3) + b"abc",
        header(kind=19, length=16) + struct.pack("<dd", float("nan"), 1),
        header(kind=19, length=16) + struct.pack("<dd", 2, 1),
        header(kind=20, length=9) + struct.pack("<q", 5) + b"a",
        header(kind=20, length=8) + struct.pack("<q", -2),
        header(kind=20, length=10) + struct.pack("<q", 2) + b"\xff\xff",
        header(kind=20, length=18) + 2 * (struct.pack("<q", 1) + b"a"),
        header(kind=21, length=9) + struct.pack("<q", 1) + b"a",
        b"GET / HTTP/1.1\r\n\r\n" * 3,
    ],
)
def test_a_malformed_reply_is_told_apart(make, fake, reply: bytes) -> None:
    worker = fake(lambda end: end.sendall(reply))

    with pytest.raises(MalformedError):
        worker.ask(EXCHANGE, watch(make.host()))
    assert not worker.is_usable


@pytest.mark.parametrize("reply", [b"", b"ONXW", header(), header(19, length=16) + b"a"])
def test_a_short_reply_is_a_death(make, fake, reply: bytes) -> None:
    whole = header()
    worker = fake(lambda end: end.sendall(reply if reply != whole else whole[:-1]))

    with pytest.raises(ClosedError):
        worker.ask(EXCHANGE, watch(make.host()))


def test_a_reply_that_never_ends_is_over_at_the_deadline(own, fake) -> None:
    """Not when the line ends: the worker holds it until somebody has given it up."""
    given_up = threading.Event()

    def dawdle(end: socket.socket) -> None:
        end.sendall(header(kind=19, length=16))
        given_up.wait(own.long_seconds)

    worker = fake(dawdle)

    with pytest.raises(ExplainError, match="the deadline passed"):
        worker.ask(EXCHANGE, watch(own.call(0.2)))
    assert not given_up.is_set()
    given_up.set()


def test_the_text_of_a_refusal_is_shown_without_what_a_terminal_would_obey() -> None:
    error = ExplainError(Reason.INVALID_MODEL, "\x1b[31mred\x00\n" + "x" * 9_000, "model")

    read = payloads.unpack_error(payloads.pack_error(error))

    assert read.message.startswith(r"\x1b[31mred\x00\nxxx")
    assert len(read.message) < 5_000
    assert (read.reason, read.field) == (Reason.INVALID_MODEL, "model")


@given(st.binary(max_size=200))
def test_random_bytes_are_read_or_refused(content: bytes) -> None:
    for read in (
        payloads.unpack_values,
        payloads.unpack_names,
        payloads.unpack_entries,
        payloads.unpack_progress,
        payloads.unpack_error,
        partial(payloads.unpack_spans, start=0.0, end=10.0),
    ):
        with suppress(MalformedError):
            read(content)


def test_a_frame_has_as_many_names_as_are_allowed() -> None:
    names = [str(i) for i in range(limits.NAME_COUNT_LIMIT)]

    assert payloads.unpack_names(payloads.pack_names(names)) == names
    with pytest.raises(MalformedError):
        payloads.unpack_names(payloads.pack_names([*names, "one more"]))
    with pytest.raises(MalformedError):
        payloads.unpack_names(payloads.pack_names(["a" * (limits.NAME_BYTE_LIMIT + 1)]))


def test_what_is_deep_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("json.loads", lambda _packed: pytest.fail("parsed"))

    with pytest.raises(MalformedError):
        payloads.unpack_spans(b"[" * 514, 0.0, 10.0)


@given(st.lists(st.none() | st.binary(max_size=50)))
def test_values_come_back_as_they_were(values: list[bytes | None]) -> None:
    assert payloads.unpack_values(payloads.pack_values(values)) == values


@given(st.dictionaries(st.text(max_size=20), st.binary(max_size=50)))
def test_entries_come_back_as_they_were(entries: dict[str, bytes]) -> None:
    assert payloads.unpack_entries(payloads.pack_entries(entries)) == entries


def test_spans_come_back_as_they_were() -> None:
    spans = [
        Span("predict", 1.0, 2.5, {"calls": 3, "rows": 40, "seconds": 2.25}),
        Span("method", 0.5, 3.0, {"method": "feature_vectors", "error": "OUT_OF_MEMORY"}),
    ]
    assert payloads.unpack_spans(payloads.pack_spans(spans), 0.0, 3.0) == spans


@pytest.mark.parametrize(
    "sent",
    [
        ["method", 1.0, 2.0, {"method": "a text of the worker's own"}],
        ["method", 1.0, 2.0, {"secret": "x"}],
        ["secret", 1.0, 2.0, {}],
        ["method", -1.0, 2.0, {}],
        ["method", 2.0, 1.0, {}],
        ["method", 1.0, 11.0, {}],
        ["method", "1", 2.0, {}],
        ["method", float("nan"), 2.0, {}],
        ["predict", 1.0, 2.0, {"seconds": float("inf")}],
        ["predict", 1.0, 2.0, {"seconds": -1}],
        ["predict", 1.0, 2.0, {"rows": 10**400}],
        ["predict", 1.0, 2.0, {"rows": [1]}],
        ["predict", 1.0, 2.0, [1]],
        ["predict", 1.0, 2.0],
        [["predict"], 1.0, 2.0, {}],
        [["method", 1.0, 2.0, {}]] * 257,
    ],
)
def test_spans_tell_nothing_but_times_counts_and_known_words(sent: list[Any]) -> None:
    packed = json.dumps(sent if len(sent) > 4 else [sent]).encode()
    with pytest.raises(MalformedError):
        payloads.unpack_spans(packed, 0.0, 10.0)


def test_more_spans_than_are_sent_are_cut() -> None:
    packed = payloads.pack_spans([Span("draw", 1.0, 2.0)] * 300)
    assert len(payloads.unpack_spans(packed, 0.0, 10.0)) == 256


def test_frames_come_whole_however_they_were_cut() -> None:
    near, far = socket.socketpair()
    with near:
        channel = FrameChannel(far, FROM_WORKER)
        sent = [Frame(FrameKind.CACHE_GET, i, os.urandom(i * 100)) for i in range(20)]
        stream = b"".join(header(20, f.call, len(f.payload)) + f.payload for f in sent)
        generator = random.Random(0)  # noqa: S311 - cuts, not secrets
        received: list[Frame] = []
        while stream:
            size = generator.randint(1, 3_000)
            near.sendall(stream[:size])
            stream = stream[size:]
            with suppress(TimeoutError):
                while True:
                    received.append(channel.receive(partial(look, channel)))
        channel.close()

    assert received == sent


def look(channel: FrameChannel) -> None:
    """Leave a channel that has nothing more to read."""
    if not channel.has_more():
        raise TimeoutError


def test_the_arena_cannot_be_made_smaller_or_larger() -> None:
    file = arena.create(ARENA_BYTES)
    for size in (0, 2 * ARENA_BYTES):
        with pytest.raises(PermissionError):
            os.truncate(file, size)
    os.close(file)


def test_the_arena_gives_nothing_beyond_its_end() -> None:
    file = arena.create(ARENA_BYTES)
    made = arena.Arena(file, ARENA_BYTES)
    made.put(b"abc")

    assert made.get(3) == b"abc"
    assert made.filled_bytes == 3
    for length in (-1, ARENA_BYTES + 1):
        with pytest.raises(ValueError, match="there are no"):
            made.get(length)
    with pytest.raises(ValueError, match="do not fit"):
        made.put(bytes(ARENA_BYTES + 1))
    made.close()
    os.close(file)


@pytest.mark.parametrize("size", [1, 2**20, 2**20 + 1, 40 * 2**20])
def test_a_trimmed_arena_returns_the_memory_of_large_messages(size: int) -> None:
    file = arena.create(2**26)
    made, other_side = arena.Arena(file, 2**26), arena.Arena(file, 2**26)
    made.put(b"x" * size)

    made.trim()

    assert 512 * os.fstat(file).st_blocks <= min(size + mmap.PAGESIZE, 2**20)
    assert made.filled_bytes == min(size, 2**20)
    made.put(b"y" * size)
    assert other_side.get(size) == b"y" * size
    made.close()
    other_side.close()
    os.close(file)
