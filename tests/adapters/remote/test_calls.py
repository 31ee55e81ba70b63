"""Calls of a remote model: limits, retries, ends, and what each status means."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from authority import Authority
from onnxplain_server.adapters.remote.calls import retries
from onnxplain_server.adapters.remote.open_remote import open_remote
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.remote.models import RemoteAddress

from tools.stores.faults import Fault
from tools.stores.faulty_server import FaultyServer, Request, of_bytes, serve
from tools.waiting import PATIENCE_SECONDS

PATH = "/v2/models/m"
METADATA = {
    "name": "m",
    "inputs": [{"name": "x", "datatype": "FP64", "shape": [-1, 2]}],
    "outputs": [{"name": "y", "datatype": "FP64", "shape": [-1]}],
}
ANSWER = {"outputs": [{"name": "y", "datatype": "FP64", "shape": [3], "data": [1.0, 2.0, 3.0]}]}
ROWS = np.array([[1.5, -2.0], [0.25, 1.0], [3.0, 4.0]])
ALWAYS = 1_000_000
SHORT = RemotePolicy(retry_seconds=1.0, timeout_seconds=1.0)


class Clock:
    """Stands for the module `time` where calls are repeated: it goes on by pauses alone."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.now = 0.0

    def monotonic(self) -> float:
        return self.begin + self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(retries, "time", made)
    return made


@pytest.fixture(autouse=True)
def answers(models: Any) -> Any:
    models.answers[f"GET {PATH}"] = METADATA
    models.answers["GET /v2"] = {"extensions": []}
    models.answers[f"POST {PATH}/infer"] = ANSWER
    return models.answers


def refusal(call: Callable[[], object]) -> ExplainError:
    with pytest.raises(ExplainError) as raised:
        call()
    return raised.value


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_status_that_passes_is_waited_for(
    server: FaultyServer, open_model: Any, status: int
) -> None:
    server.faults.add(Fault("infer", status=status, count=2))

    assert open_model().predict({"x": ROWS}).tolist() == [[1.0], [2.0], [3.0]]
    assert [e.status for e in server.traffic.of("infer")] == [status, status, 200]


def test_a_server_that_stays_away_is_told_with_its_last_fault(
    server: FaultyServer, open_model: Any, clock: Clock
) -> None:
    server.faults.add(Fault("infer", status=503, count=ALWAYS))
    model = open_model(policy=RemotePolicy(retry_seconds=20.0))

    error = refusal(lambda: model.predict({"x": ROWS}))

    assert error.reason is Reason.REMOTE_MODEL_UNAVAILABLE
    assert "answers 503" in error.message
    assert len(server.traffic.of("infer")) > 2
    assert clock.now <= 20.0


def test_retry_after_is_honoured(server: FaultyServer, open_model: Any, clock: Clock) -> None:
    server.faults.add(Fault("infer", status=429, retry_after_seconds=7))

    open_model().predict({"x": ROWS})

    assert clock.now == pytest.approx(7.0)


def test_a_pause_beyond_the_time_for_retries_is_not_waited_for(
    server: FaultyServer, open_model: Any
) -> None:
    server.faults.add(Fault("infer", status=429, retry_after_seconds=1_000, count=ALWAYS))

    error = refusal(lambda: open_model().predict({"x": ROWS}))

    assert error.reason is Reason.REMOTE_MODEL_UNAVAILABLE
    assert error.retry_seconds == 1_000
    assert len(server.traffic.of("infer")) == 1


def test_retries_end_before_the_deadline(
    server: FaultyServer, open_model: Any, control: Any, clock: Clock
) -> None:
    server.faults.add(Fault("infer", status=503, count=ALWAYS))
    control.deadline = clock.monotonic() + 10.0

    error = refusal(lambda: open_model().predict({"x": ROWS}))

    assert error.reason is Reason.REMOTE_MODEL_UNAVAILABLE
    assert len(server.traffic.of("infer")) > 1
    assert clock.monotonic() <= control.deadline


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (301, Reason.REMOTE_MODEL_FORBIDDEN),
        (307, Reason.REMOTE_MODEL_FORBIDDEN),
        (401, Reason.REMOTE_MODEL_FORBIDDEN),
        (403, Reason.REMOTE_MODEL_FORBIDDEN),
        (404, Reason.REMOTE_MODEL_NOT_FOUND),
        (400, Reason.PREDICTION_FAILED),
        (413, Reason.PREDICTION_FAILED),
        (422, Reason.PREDICTION_FAILED),
        (500, Reason.PREDICTION_FAILED),
    ],
)
def test_other_statuses_are_told_at_once(
    answers: Any, server: FaultyServer, open_model: Any, status: int, reason: Reason
) -> None:
    body = b'{"error": "row 2 is odd"}'
    answers[f"POST {PATH}/infer"] = lambda _: of_bytes(status, {"Location": "/elsewhere"}, body)

    error = refusal(lambda: open_model().predict({"x": ROWS}))

    assert error.reason is reason
    assert str(status) in error.message
    assert 300 <= status < 400 or '"row 2 is odd"' in error.message
    assert len(server.traffic.of("infer")) == 1
    assert not server.traffic.of("elsewhere")


def test_a_model_that_the_server_does_not_know_is_told(open_model: Any) -> None:
    error = refusal(open_model(name="other").describe)

    assert error.reason is Reason.REMOTE_MODEL_NOT_FOUND
    assert '"other"' in error.message


def test_a_model_that_is_gone_for_a_while_is_waited_for(
    answers: Any, server: FaultyServer, open_model: Any
) -> None:
    model = open_model()
    model.predict({"x": ROWS})
    server.faults.add(Fault("infer", status=404, count=2))

    assert model.predict({"x": ROWS}).tolist() == [[1.0], [2.0], [3.0]]


def test_a_cut_answer_is_asked_for_again(server: FaultyServer, open_model: Any) -> None:
    server.faults.add(Fault("infer", cut_after=20, count=2))

    assert open_model().predict({"x": ROWS}).tolist() == [[1.0], [2.0], [3.0]]


def test_no_more_is_read_of_an_answer_than_the_limit(
    answers: Any, server: FaultyServer, open_model: Any
) -> None:
    answers[f"POST {PATH}/infer"] = b"[" + b" " * (64 << 20) + b"]"
    policy = RemotePolicy(answer_byte_limit=1_000_000)

    error = refusal(lambda: open_model(policy=policy).predict({"x": ROWS}))

    assert error.reason is Reason.REMOTE_MODEL_ANSWER
    assert "1,000,000 bytes" in error.message
    (exchange,) = server.traffic.of("infer")
    assert exchange.byte_count < 32 << 20


def test_a_trickle_is_ended_when_the_time_of_a_call_has_passed(
    answers: Any, server: FaultyServer, open_model: Any
) -> None:
    answers[f"POST {PATH}/infer"] = b" " * (1 << 20)
    server.faults.add(Fault("infer", pause_seconds=0.1, count=ALWAYS))

    error = refusal(lambda: open_model(policy=SHORT).predict({"x": ROWS}))

    assert error.reason is Reason.REMOTE_MODEL_UNAVAILABLE
    assert "no answer in 1 s" in error.message


def test_a_cancelled_call_ends_while_the_server_is_silent(
    server: FaultyServer, open_model: Any, control: Any
) -> None:
    held, asked = threading.Event(), threading.Event()
    server.faults.add(Fault("infer", before=asked.set, held_by=held))
    model = open_model()

    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(model.predict, {"x": ROWS})
        assert asked.wait(PATIENCE_SECONDS)
        control.end()
        error = refusal(lambda: call.result(PATIENCE_SECONDS))
    held.set()

    assert error.reason is Reason.CANCELLED


def test_connections_are_kept(models: Any, open_model: Any, answers: Any) -> None:
    clients = set()

    def infer(request: Request) -> Any:
        clients.add(threading.get_ident())
        return ANSWER

    answers[f"POST {PATH}/infer"] = infer
    model = open_model()
    for _ in range(5):
        model.predict({"x": ROWS})

    # The server has one thread for each connection.
    assert len(clients) == 1


def test_no_more_calls_run_at_a_time_than_allowed_for_the_server(
    answers: Any, open_model: Any
) -> None:
    lock, active, most = threading.Lock(), [0], [0]
    have_met = threading.Event()

    def infer(request: Request) -> Any:
        with lock:
            active[0] += 1
            most[0] = max(most[0], active[0])
            if active[0] == 2:
                have_met.set()
        assert have_met.wait(PATIENCE_SECONDS)
        time.sleep(0.02)  # in which more would come
        with lock:
            active[0] -= 1
        return ANSWER

    answers[f"POST {PATH}/infer"] = infer
    policy = RemotePolicy(call_count=2)
    requests = [open_model(policy=policy) for _ in range(3)]

    with ThreadPoolExecutor(9) as pool:
        list(pool.map(lambda k: requests[k % 3].predict({"x": ROWS}), range(30)))

    assert most[0] == 2


@pytest.mark.parametrize("is_faulty", [False, True])
def test_no_second_has_more_calls_than_the_bound(
    server: FaultyServer, answers: Any, open_model: Any, is_faulty: bool
) -> None:
    arrivals: list[float] = []
    delays = np.random.default_rng(3).choice([0.0, 0.0, 0.0, 0.3], size=200)

    def infer(request: Request) -> Any:
        time.sleep(delays[len(arrivals)])  # on the way
        arrivals.append(time.monotonic())
        if is_faulty and len(arrivals) % 5 == 0:
            return of_bytes(503, {}, b"")
        return ANSWER

    answers[f"POST {PATH}/infer"] = infer
    policy = RemotePolicy(call_count=8, calls_per_second=20)
    requests = [open_model(policy=policy) for _ in range(3)]

    with ThreadPoolExecutor(9) as pool:
        list(pool.map(lambda k: requests[k % 3].predict({"x": ROWS}), range(60)))

    times = np.sort(arrivals)
    assert len(times) >= 60
    assert (times[20:] - times[:-20]).min() >= 1.0


def test_an_address_that_is_not_allowed_is_never_connected_to(
    server: FaultyServer, open_model: Any
) -> None:
    def resolve(host: str, port: int) -> str:
        raise ExplainError(Reason.REMOTE_MODEL_FORBIDDEN, f"{host}:{port} is not allowed")

    error = refusal(open_model(policy=RemotePolicy(resolve=resolve)).describe)

    assert error.reason is Reason.REMOTE_MODEL_FORBIDDEN
    assert not server.traffic.of()


def test_credentials_of_the_operator_are_sent(models: Any, open_model: Any) -> None:
    policy = RemotePolicy(headers={"Authorization": "Bearer abc"})

    open_model(policy=policy).predict({"x": ROWS})

    assert {r.headers["Authorization"] for r in models.requests} == {"Bearer abc"}
    assert "Bearer" not in repr(policy)


@pytest.mark.parametrize(
    ("host", "trusted", "is_right"),
    [("models.example", "a", True), ("other.example", "a", False), ("models.example", "b", False)],
)
def test_a_certificate_must_be_trusted_and_name_the_host(
    models: Any, control: Any, tmp_path: Path, host: str, trusted: str, is_right: bool
) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    authorities = {name: Authority(tmp_path / name) for name in "ab"}
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authorities["a"].issue("models", "models.example"))
    file = str(authorities[trusted].file)
    policy = RemotePolicy(ca_file=file, resolve=lambda *_: "127.0.0.1")

    with serve(models.answer, context) as server:
        uri = f"https://{host}:{server.url.rpartition(':')[2]}"
        model = open_remote(RemoteAddress("OIP_REST", uri, "m"), policy, control)
        if is_right:
            assert model.predict({"x": ROWS}).shape == (3, 1)
        else:
            assert refusal(model.describe).reason is Reason.REMOTE_MODEL_FORBIDDEN


def test_a_server_that_takes_no_connection_is_told(open_model: Any) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{deaf.getsockname()[1]}"

        error = refusal(open_model(uri=uri, policy=SHORT).describe)

    assert error.reason is Reason.REMOTE_MODEL_UNAVAILABLE
    assert "Connection refused" in error.message
