"""What a computation may ask of its surroundings, and when it is told to end."""

import math
from collections.abc import Mapping, Sequence

import pytest
from onnxplain_server.call import Call
from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.run import CacheCounts


class Drawer:
    """A cache that is a dictionary."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def recall(self, names: Sequence[str]) -> Sequence[bytes | None]:
        return [self.values.get(name) for name in names]

    def remember(self, entries: Mapping[str, bytes]) -> None:
        self.values |= entries

    def counts(self) -> CacheCounts:
        return CacheCounts(0, 0, 0, len(self.values))


def test_progress_is_passed_on() -> None:
    heard = []
    call = Call(Drawer(), "", 60, lambda done, planned: heard.append((done, planned)))

    call.advance(1, 10)
    call.advance(2, 9)

    assert heard == [(1, 10), (2, 9)]


def test_past_its_deadline_a_call_ends_and_tells_how_far_it_came() -> None:
    heard: list[float] = []
    call = Call(Drawer(), "", -1, lambda done, _planned: heard.append(done))

    with pytest.raises(ExplainError) as end:
        call.advance(1500, 20000)

    assert end.value.reason is Reason.DEADLINE_EXCEEDED
    assert "1,500 of 20,000" in end.value.message
    assert heard == []


def test_a_call_may_have_no_deadline() -> None:
    Call(Drawer(), "", math.inf).advance(0, 0)


def test_a_cancelled_call_ends_at_its_next_step_and_at_every_later_one() -> None:
    call = Call(Drawer(), "", 60)
    call.advance(0, 1)
    call.cancel(Reason.UNAVAILABLE, "the server is stopping")

    for _ in range(2):
        with pytest.raises(ExplainError, match="stopping") as end:
            call.advance(0, 1)
        assert end.value.reason is Reason.UNAVAILABLE


def test_a_call_whose_caller_has_gone_is_cancelled() -> None:
    here = [True]
    call = Call(Drawer(), "", 60, gone=lambda: not here[0])
    call.advance(0, 1)
    here[0] = False

    with pytest.raises(ExplainError) as end:
        call.advance(0, 1)

    assert end.value.reason is Reason.CANCELLED


def test_callers_with_different_prefixes_do_not_see_each_others_numbers() -> None:
    drawer = Drawer()
    one, other = Call(drawer, "one/", 60), Call(drawer, "other/", 60)

    one.remember({"a": b"1"})

    assert list(one.recall(["a", "b"])) == [b"1", None]
    assert list(other.recall(["a", "b"])) == [None, None]
    assert list(drawer.values) == ["one/a"]
