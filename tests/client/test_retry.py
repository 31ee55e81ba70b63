"""Retry: transient errors, backoff, and refusals that are final."""

import random
from collections.abc import Callable
from typing import Any

import grpc
import onnxplain
import pytest
from onnxplain import ExplainError
from onnxplain.transport.retry import Attempts

ROWS = {"age": [20.0, 30.0]}

Call = Callable[[onnxplain.Client], Any]

CALLS = [
    pytest.param(lambda c: c.explain(b"", ROWS), id="explain"),
    pytest.param(lambda c: c.explain(b"", ROWS, progress=_ignore), id="with progress"),
    pytest.param(lambda c: list(c.explain_stream(b"", ROWS)), id="stream"),
    pytest.param(lambda c: c.describe(b""), id="describe"),
]


def _ignore(_done: float, _planned: float) -> None:
    """Look at nothing."""


class Clock:
    """A clock on which nothing but pauses takes time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("onnxplain.transport.waiting.time", made)
    monkeypatch.setattr("onnxplain.transport.retry.time", made)
    return made


def failing(times: int, status: Callable[[], Any]) -> Callable[[], Any]:
    """Refuse some times, then answer."""
    left = [status] * times
    return lambda: left.pop()() if left else None


@pytest.mark.parametrize("call", CALLS)
def test_a_server_that_is_being_replaced_is_asked_again(
    call: Call, client: onnxplain.Client, server, refusals
) -> None:
    server.service.refuse = failing(2, refusals.unavailable)

    assert call(client)
    assert len(server.service.requests) == 3


def test_a_server_with_too_much_to_do_is_asked_when_it_says(
    client: onnxplain.Client, server, refusals, clock: Clock
) -> None:
    server.service.refuse = failing(1, lambda: refusals.overloaded(50))

    client.describe(b"")

    assert len(server.service.requests) == 2
    assert len(clock.pauses) == 1
    assert 50 < clock.pauses[0] <= 50.1


@pytest.mark.parametrize(
    "code",
    [
        code
        for code in grpc.StatusCode
        if code not in {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}
    ],
)
def test_what_the_server_refuses_stays_refused(
    code, client: onnxplain.Client, server, refusals
) -> None:
    server.service.refuse = lambda: refusals.refusal(code, "no")

    with pytest.raises(ExplainError) as caught:
        client.describe(b"")

    assert caught.value.code == code.name
    assert len(server.service.requests) == 1


def test_after_so_many_attempts_the_last_error_is_told(server, refusals) -> None:
    server.service.refuse = refusals.unavailable

    with (
        onnxplain.connect(server.endpoint, retry_count=2) as client,
        pytest.raises(ExplainError, match="the server is stopping"),
    ):
        client.describe(b"")

    assert len(server.service.requests) == 3


def test_attempts_and_pauses_together_stay_within_the_time_of_the_call(
    client: onnxplain.Client, server, refusals, clock: Clock
) -> None:
    """Of 120 seconds two pauses of 50 leave too few for a third."""
    server.service.refuse = lambda: refusals.overloaded(50)

    with pytest.raises(ExplainError, match="2 requests at a time"):
        client.describe(b"", timeout=120)

    assert len(server.service.requests) == 3
    assert len(clock.pauses) == 2


def test_each_attempt_has_only_the_time_that_is_left(
    client: onnxplain.Client, server, refusals, clock: Clock
) -> None:
    server.service.refuse = failing(1, lambda: refusals.overloaded(1_000))

    client.describe(b"", timeout=1_090)

    assert 0 < server.service.seconds < 1_090 - clock.now + 10  # rounded up on the wire


def test_a_stream_that_breaks_after_its_first_event_is_told_and_not_begun_anew(
    client: onnxplain.Client, server, refusals, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = server.service.events

    def breaking(request, context):
        yield next(whole(request, context))
        context.abort_with_status(refusals.unavailable())

    monkeypatch.setattr(server.service, "events", breaking)
    events = client.explain_stream(b"", ROWS)

    assert next(events) == onnxplain.Progress(0, 100)
    with pytest.raises(ExplainError, match="the server is stopping"):
        next(events)
    assert len(server.service.requests) == 1


def test_progress_never_falls_though_the_computation_began_anew(
    client: onnxplain.Client, server, refusals, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = server.service.events
    first = [True]

    def breaking(request, context):
        for event in whole(request, context):
            yield event
            if first and event.progress.done == 50:
                first.clear()
                context.abort_with_status(refusals.unavailable())

    monkeypatch.setattr(server.service, "events", breaking)
    told: list[tuple[float, float]] = []
    client.explain(b"", ROWS, progress=lambda *at: told.append(at))

    assert told == [(0, 100), (50, 100), (100, 100)]


def test_pauses_double_from_a_tenth_of_a_second_with_chance_in_them() -> None:
    attempts = Attempts(9, None)
    error = ExplainError("UNAVAILABLE", "", "", "UNAVAILABLE")

    pauses = [attempts.pause(error) for _ in range(9)]

    longest = [0.1, 0.2, 0.4, 0.8, 1.6, 2, 2, 2, 2]
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True))
    assert len(set(pauses)) == 9


@pytest.mark.parametrize("chance", [min, max])
def test_retries_outlast_a_restart_of_the_only_server(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, chance: Callable[[float, float], float]
) -> None:
    """By default, whatever chance makes of the pauses; and they do not last for minutes."""
    monkeypatch.setattr(random, "uniform", chance)

    with onnxplain.connect("127.0.0.1:1") as client, pytest.raises(ExplainError) as caught:
        client.describe(b"")

    assert caught.value.code == "UNAVAILABLE"
    assert 5 < sum(clock.pauses) < 15


def test_a_call_that_a_closing_server_cut_off_is_made_again_and_one_left_by_its_caller_is_not() -> (
    None
):
    cut = ExplainError("CANCELLED", "CANCELLED", "", "CANCELLED")
    left = ExplainError("CANCELLED", "Channel closed!", "", "CANCELLED")

    assert Attempts(1, None).pause(cut) > 0
    with pytest.raises(ExplainError, match="closed"):
        Attempts(1, None).pause(left)
