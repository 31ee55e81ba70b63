"""Remote models of a server: a confined process calls, each session for one request."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxplain_server.adapters.network_processes.socket_frames import BrokenError, send
from onnxplain_server.adapters.remote_server import call_frames as frames
from onnxplain_server.adapters.remote_server.columns import pack_feeds
from onnxplain_server.adapters.remote_server.remote_calls import RemoteCalls
from onnxplain_server.adapters.remote_server.socket_predictions import SocketPredictions
from onnxplain_server.core.counts.remote_counts import CallCounts
from onnxplain_server.core.errors import ExplainError, Reason

from tools.model_servers.doubling import LONG_SECONDS, Control, Host, Models, blobs, rows
from tools.stores.faulty_server import serve
from tools.waiting import until

Calls = Callable[..., RemoteCalls]


@contextmanager
def opened(calls: RemoteCalls, url: str, host: Any = None) -> Iterator[SocketPredictions]:
    """Open a session, as a computation has it."""
    host = host or Host()
    with calls.session(blobs(url), host) as end:
        assert end is not None
        predictions = SocketPredictions(end.dup(), host.control)
        try:
            yield predictions
        finally:
            predictions.close()


def process_of(calls: RemoteCalls) -> int:
    assert calls._process is not None
    return calls._process._process.pid


def test_rows_are_predicted_and_counted(calls: Calls, models: Models) -> None:
    host = Host()
    asked = calls(calls=3, rows_per_call=10)
    with opened(asked, models.url, host) as predictions:
        description = predictions.describe()
        answers = predictions.predict(rows(1.0, 2.5))

    assert answers.tolist() == [[2.0], [5.0]]
    assert (predictions.call_count, predictions.row_limit) == (3, 10)
    assert [each.name for each in description.inputs] == ["x"]
    assert description.platform == "p"
    assert host.use.prefix == models.url
    assert host.use.counts.row_count == 2
    assert host.use.counts.failure_count == host.use.counts.retry_count == 0
    assert asked.counts() == {models.url: host.use.counts}


def test_answers_come_in_any_order(calls: Calls, models: Models) -> None:
    models.held = {1.0: threading.Event()}
    with (
        opened(calls(), models.url) as predictions,
        ThreadPoolExecutor(2) as pool,
    ):
        slow = pool.submit(predictions.predict, rows(1.0))
        assert models.asked.acquire(timeout=LONG_SECONDS)
        assert predictions.predict(rows(2.0)).tolist() == [[4.0]]
        assert not slow.done()
        models.held[1.0].set()
        assert slow.result(LONG_SECONDS).tolist() == [[2.0]]


def test_calls_at_a_time_are_bounded_over_sessions(calls: Calls, models: Models) -> None:
    asked = calls(calls=2)
    models.awaited = 2

    def ask(first: float) -> float:
        with opened(asked, models.url) as predictions:
            return float(sum(predictions.predict(rows(first))[0, 0] for _ in range(4)))

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(ask, range(6)))

    assert found == [8.0 * first for first in range(6)]
    assert models.most_active == 2


@pytest.mark.slow
def test_calls_per_second_are_bounded_over_sessions(calls: Calls, models: Models) -> None:
    asked = calls(calls_per_second=10)

    def ask(first: float) -> None:
        with opened(asked, models.url) as predictions:
            for _ in range(6):
                predictions.predict(rows(first))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(4)))

    assert len(models.started) == 24
    for start in models.started:
        assert sum(start <= other < start + 1 for other in models.started) <= 10


def test_repeated_calls_are_told(calls: Calls, models: Models) -> None:
    models.statuses = [503, 429]
    host = Host()
    with opened(calls(), models.url, host) as predictions:
        predictions.describe()
        assert predictions.predict(rows(3.0)).tolist() == [[6.0]]

    counts = host.use.counts
    assert (counts.retry_count, counts.row_count, counts.failure_count) == (2, 1, 0)
    assert counts.call_count == len(models.authorizations)


def test_an_error_of_a_call_is_told_and_counted(calls: Calls, models: Models) -> None:
    models.statuses = [400]
    host = Host()
    with opened(calls(), models.url, host) as predictions:
        with pytest.raises(ExplainError) as failed:
            predictions.predict(rows(3.0))
        assert predictions.predict(rows(4.0)).tolist() == [[8.0]]

    assert failed.value.reason is Reason.PREDICTION_FAILED
    assert "a fault of the test" in failed.value.message
    assert host.use.counts.failure_count == 1


def test_credentials_that_change_are_used(calls: Calls, models: Models, tmp_path: Path) -> None:
    token = tmp_path / "secret" / "token"
    token.parent.mkdir()
    token.write_text("first")
    asked = calls(credentials_file=str(token))

    def authorization() -> str:
        with opened(asked, models.url) as predictions:
            predictions.predict(rows(1.0))
        return models.authorizations[-1]

    assert authorization() == "Bearer first"
    token.write_text("me:second")
    until(lambda: authorization() == "Basic bWU6c2Vjb25k")


def test_a_cancelled_request_ends_its_calls(calls: Calls, models: Models) -> None:
    models.held = {1.0: threading.Event()}
    host = Host()
    asked = calls()
    with ThreadPoolExecutor(1) as pool:
        with opened(asked, models.url, host) as predictions:
            waiting = pool.submit(predictions.predict, rows(1.0))
            assert models.asked.acquire(timeout=LONG_SECONDS)
            host.control.is_cancelled = True
            with pytest.raises(ExplainError) as failed:
                waiting.result(LONG_SECONDS)
        assert failed.value.reason is Reason.CANCELLED
        # The slot of the call is free again: the process has ended it, and its server still waits.
        with opened(asked, models.url) as predictions:
            answers = [predictions.predict(rows(2.0)) for _ in range(predictions.call_count)]
    assert np.concatenate(answers).ravel().tolist() == [4.0] * len(answers)


def test_a_deadline_ends_calls_in_the_process(calls: Calls, models: Models) -> None:
    models.held = {1.0: threading.Event()}
    asked = calls()
    with opened(asked, models.url):
        pass  # the process runs
    host = Host(deadline=time.monotonic() + 0.5)
    with opened(asked, models.url, host) as predictions, pytest.raises(ExplainError) as failed:
        predictions.predict(rows(1.0))

    assert failed.value.reason is Reason.CANCELLED


def test_a_computation_that_ends_ends_its_calls(calls: Calls, models: Models) -> None:
    """One call at a time is allowed, and one that nobody waits for takes no place."""
    models.held = {1.0: threading.Event()}
    asked = calls(calls=1)
    with asked.session(blobs(models.url), Host()) as end:
        assert end is not None
        send(end, frames.CallKind.PREDICT, 1, *pack_feeds(rows(1.0)))
        assert models.asked.acquire(timeout=LONG_SECONDS)
    with opened(asked, models.url) as predictions:
        assert predictions.predict(rows(2.0)).tolist() == [[4.0]]


GARBAGE = (
    b"GET / HTTP/1.1\r\n\r\n",
    bytes(64),
    struct.pack("<cIQ", b"P", 1, 2**63),
    struct.pack("<cIQ", b"P", 1, 8) + b"no rows!",
    struct.pack("<cIQ", b"D", 7, 0) * 50,
)


@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_ends_its_own_session_only(calls: Calls, models: Models, garbage: bytes) -> None:
    asked = calls()
    with opened(asked, models.url) as good:
        good.predict(rows(1.0))
        pid = process_of(asked)
        with asked.session(blobs(models.url), Host()) as end:
            assert end is not None
            end.sendall(garbage)
            end.settimeout(LONG_SECONDS)
            while end.recv(2**16):
                pass
        assert good.predict(rows(2.0)).tolist() == [[4.0]]
    assert process_of(asked) == pid


@pytest.mark.parametrize(
    "garbage",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        struct.pack("<cIQ", b"O", 0, 2**63),
        struct.pack("<cIQ", b"O", 0, 4) + b"[0,]",
        struct.pack("<cIQ", b"E", 0, 2) + b"[]",
        struct.pack("<cIQ", b"p", 0, 0),
        b"",
    ],
)
def test_a_computation_takes_no_garbage(garbage: bytes) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(garbage)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(ExplainError) as failed:
            SocketPredictions(ours, Control())

    assert failed.value.reason is Reason.REMOTE_MODEL_UNAVAILABLE


def test_a_process_that_ends_is_started_anew(calls: Calls, models: Models) -> None:
    asked = calls()
    models.held = {1.0: threading.Event()}
    host = Host()
    with ThreadPoolExecutor(1) as pool, opened(asked, models.url, host) as predictions:
        waiting = pool.submit(predictions.predict, rows(1.0))
        assert models.asked.acquire(timeout=LONG_SECONDS)
        os.kill(process_of(asked), signal.SIGKILL)
        with pytest.raises(ExplainError) as failed:
            waiting.result(LONG_SECONDS)
    with opened(asked, models.url) as predictions:
        assert predictions.predict(rows(2.0)).tolist() == [[4.0]]

    assert failed.value.reason is Reason.REMOTE_MODEL_UNAVAILABLE
    assert host.use.counts == CallCounts()


def test_a_socket_is_dead_after_its_request(calls: Calls, models: Models) -> None:
    """A computation that keeps a copy asks nothing any more."""
    with calls().session(blobs(models.url), Host()) as end:
        assert end is not None
        kept = end.dup()
    with kept:
        kept.settimeout(LONG_SECONDS)
        while kept.recv(2**16):  # what was sent before the end
            pass
        with contextlib.suppress(BrokenError):
            send(kept, frames.CallKind.PREDICT, 1, *pack_feeds(rows(1.0)))
    assert models.started == []


def test_a_session_reaches_the_model_of_its_request_only(
    models: Models, listed: Callable[..., Path]
) -> None:
    """Frames have no address, and one that names another listed model is garbage."""
    other = Models()
    with serve(other.answer) as server:
        path = listed(models.url)
        path.write_text(path.read_text() + f'[[remote_model]]\nprefix = "{server.url}"\n')
        with closing(RemoteCalls(path, 2**31, is_confined=True)) as asked:
            named = [blob.content for blob in blobs(server.url).values()]
            for kind in (b"D", b"P", b"O", b"U", b"F"):
                with asked.session(blobs(models.url), Host()) as end:
                    assert end is not None
                    content = named[0]
                    end.sendall(struct.pack("<cIQ", kind, 1, len(content)) + content)
                    end.settimeout(LONG_SECONDS)
                    while end.recv(2**16):
                        pass
            with opened(asked, models.url) as predictions:
                predictions.predict(rows(1.0))

    assert len(models.started) == 1
    assert other.authorizations == []


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:1", Reason.REMOTE_MODEL_NOT_LISTED),
        ("http://169.254.169.254/latest", Reason.REMOTE_MODEL_NOT_LISTED),
        ("http://u:p@127.0.0.1", Reason.INVALID_REQUEST),
    ],
)
def test_what_is_not_listed_starts_no_process(calls: Calls, url: str, reason: Reason) -> None:
    asked = calls()
    with pytest.raises(ExplainError) as refused, asked.session(blobs(url), Host()):
        pass

    assert refused.value.reason is reason
    assert asked._process is None


def test_a_request_without_a_remote_model_has_no_session(calls: Calls) -> None:
    asked = calls()
    with asked.session({}, Host()) as end:
        assert end is None
    assert asked._process is None


def test_the_process_confines_itself(calls: Calls, models: Models, tmp_path: Path) -> None:
    """All of its threads have the filter; how little it may do is tested in tests/isolation."""
    asked = calls()
    with opened(asked, models.url) as predictions:
        predictions.predict(rows(1.0))
        pid = process_of(asked)
        for thread in Path(f"/proc/{pid}/task").iterdir():
            status = (thread / "status").read_text(encoding="utf-8")
            assert "NoNewPrivs:\t1" in status
            assert "Seccomp:\t2" in status
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"HOME" not in environment
