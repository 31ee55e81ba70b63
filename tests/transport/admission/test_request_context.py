"""Request context: cache prefix, deadline, cancellation and single flight."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import CacheCounts, GoOn
from onnxplain_server.transport.admission.follower import Follower
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl


class Drawer:
    """A cache that is a dictionary."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def single_flight(
        self, name: str, keep_waiting: Callable[[], bool]
    ) -> AbstractContextManager[bool]:
        return nullcontext(True)

    def get_many(
        self, names: Sequence[str], go_on: GoOn = lambda _bytes: True
    ) -> Sequence[bytes | None]:
        return [self.values.get(name) for name in names]

    def put_many(self, entries: Mapping[str, bytes]) -> None:
        self.values |= entries

    def counts(self) -> CacheCounts:
        return CacheCounts(0, 0, 0, len(self.values))


def test_progress_is_passed_on() -> None:
    heard = []
    call = RequestContext(
        RequestControl(60),
        Drawer(),
        "",
        Follower(lambda done, planned: heard.append((done, planned))),
    )

    call.advance(1, 10)
    call.advance(2, 9)

    assert heard == [(1, 10), (2, 9)]


def test_past_its_deadline_a_call_ends_and_tells_how_far_it_came() -> None:
    heard: list[float] = []
    call = RequestContext(
        RequestControl(-1), Drawer(), "", Follower(lambda done, _planned: heard.append(done))
    )

    with pytest.raises(ExplainError) as end:
        call.advance(1500, 20000)

    assert end.value.reason is Reason.DEADLINE_EXCEEDED
    assert "1,500 of 20,000" in end.value.message
    assert heard == []


def test_a_plan_beyond_the_limit_is_refused_before_a_row_is_done() -> None:
    heard: list[tuple[float, float]] = []
    call = RequestContext(
        RequestControl(60), Drawer(), "", Follower(lambda *told: heard.append(told)), row_limit=10
    )
    call.advance(0, 10)

    with pytest.raises(ExplainError, match="up to 11 rows; this server allows 10") as end:
        call.advance(0, 11)

    assert end.value.reason is Reason.TOO_MANY_ROWS
    assert heard == [(0, 10)]


def test_a_call_may_have_no_deadline() -> None:
    RequestContext(RequestControl(math.inf), Drawer(), "").advance(0, 0)


def test_a_cancelled_call_ends_at_its_next_step_and_at_every_later_one() -> None:
    control = RequestControl(60)
    call = RequestContext(control, Drawer(), "")
    call.advance(0, 1)
    control.cancel(Reason.UNAVAILABLE, "the server is stopping")

    for _ in range(2):
        with pytest.raises(ExplainError, match="stopping") as end:
            call.advance(0, 1)
        assert end.value.reason is Reason.UNAVAILABLE


def test_a_call_whose_caller_has_gone_is_cancelled() -> None:
    here = [True]
    call = RequestContext(RequestControl(60, lambda: not here[0]), Drawer(), "")
    call.advance(0, 1)
    here[0] = False

    with pytest.raises(ExplainError) as end:
        call.advance(0, 1)

    assert end.value.reason is Reason.CANCELLED


def test_callers_with_different_prefixes_do_not_see_each_others_numbers() -> None:
    drawer = Drawer()
    one, other = (
        RequestContext(RequestControl(60), drawer, "one/"),
        RequestContext(RequestControl(60), drawer, "other/"),
    )

    one.cache_put({"a": b"1"})

    assert list(one.cache_get(["a", "b"])) == [b"1", None]
    assert list(other.cache_get(["a", "b"])) == [None, None]
    assert list(drawer.values) == ["one/a"]


class Queue(Drawer):
    """A cache where another is at the same work until it was asked for `polls` times.

    Between two of them `meanwhile` happens.
    """

    def __init__(self, polls: float, meanwhile: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.polls = polls
        self.meanwhile = meanwhile
        self.names: list[str] = []
        self.failed = False

    @contextmanager
    def single_flight(self, name: str, keep_waiting: Callable[[], bool]) -> Iterator[bool]:
        self.names.append(name)
        while self.polls > 0 and keep_waiting():
            self.polls -= 1
            self.meanwhile()
        try:
            yield self.polls == 0
        except ExplainError:
            self.failed = True
            raise


def test_work_is_named_within_the_callers_own_names() -> None:
    queue = Queue(0)

    with RequestContext(RequestControl(60), queue, "one/").single_flight("method") as first:
        assert first

    assert queue.names == ["one/method"]


class Clock:
    """A clock that goes on by a second when it is told to."""

    now = 1_000.0

    def monotonic(self) -> float:
        return self.now

    def tick(self) -> None:
        self.now += 1


def test_a_call_waits_for_others_for_half_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 120 seconds 20 were over when it came to wait, so 50 of the 100 that were left."""
    clock = Clock()
    monkeypatch.setattr("onnxplain_server.transport.admission.request_context.time", clock)
    monkeypatch.setattr("onnxplain_server.transport.admission.request_control.time", clock)
    call = RequestContext(RequestControl(120), Queue(math.inf, clock.tick), "")
    clock.now += 20

    with call.single_flight("method") as first:
        assert not first

    assert clock.now == 1_000 + 20 + 50


def test_a_call_that_is_cancelled_stops_waiting() -> None:
    polls = iter(range(4))
    control = RequestControl(math.inf)
    call = RequestContext(control, queue := Queue(math.inf), "")
    queue.meanwhile = lambda: control.cancel() if next(polls) == 3 else None

    with pytest.raises(ExplainError) as end, call.single_flight("method"):
        pass

    assert end.value.reason is Reason.CANCELLED
    assert list(polls) == []


@pytest.mark.parametrize(("polls", "expected"), [(0, []), (3, ["aside", "back"])])
def test_a_call_stands_aside_while_it_waits_and_only_then(polls: int, expected: list[str]) -> None:
    events: list[str] = []
    control = RequestControl(60)
    call = RequestContext(control, Queue(polls), "")

    @contextmanager
    def release_slot() -> Iterator[None]:
        events.append("aside")
        yield
        events.append("back")

    control.release_slot = release_slot
    with call.single_flight("method"):
        assert events == expected

    assert events == expected


def test_work_that_fails_is_told_so_that_another_takes_it_over() -> None:
    queue = Queue(0)

    with (
        pytest.raises(ExplainError),
        RequestContext(RequestControl(60), queue, "").single_flight("method"),
    ):
        raise ExplainError(Reason.PREDICTION_FAILED, "no")

    assert queue.failed
