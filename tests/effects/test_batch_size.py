"""Adaptive batch size: learned from calls, and bounded so that computations can be cancelled."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.effects.batch_size import ALIGNMENT, BatchSize, call_within_memory

LONGEST = 0.05
LEAST = 16
"""Rows that stay together in a call, however slow."""


def learn(seconds: Callable[[int], float], calls: int = 60) -> tuple[BatchSize, list[float]]:
    """Let a model that needs so long for so many rows be called; return how long calls took."""
    batch_size, took = BatchSize(), []
    for _ in range(calls):
        size = batch_size.current()
        took.append(seconds(size))
        batch_size.record(size, size, took[-1])
    return batch_size, took


def test_a_large_overhead_per_call_leads_to_large_batches() -> None:
    batch_size, _ = learn(lambda rows: 1e-3 + 1e-7 * rows)

    assert batch_size.current() == BatchSize.LARGEST


def test_slow_large_calls_lead_to_small_batches() -> None:
    batch_size, _ = learn(lambda rows: 1e-7 * rows * (1 if rows <= 4000 else 3))

    assert batch_size.current() <= 4000


def test_the_batch_size_settles() -> None:
    batch_size, _ = learn(lambda rows: 1e-7 * rows)
    settled = batch_size.current()

    for _ in range(50):
        batch_size.record(settled, settled, 10.0)

    assert batch_size.current() == settled


@given(overhead=st.floats(0, 0.01), per_row=st.floats(1e-9, 1e-2))
def test_no_call_takes_much_longer_than_a_twentieth_of_a_second(
    overhead: float, per_row: float
) -> None:
    """Before the pace is known, as after it."""
    _, took = learn(lambda rows: overhead + per_row * rows)

    assert max(took) <= max(LONGEST, LEAST * per_row) + overhead


@pytest.mark.parametrize("per_row", [1e-4, 1e-3, 1e-2, 1.0, 10.0])
def test_calls_of_a_slow_model_last_as_long_as_they_may(per_row: float) -> None:
    batch_size, took = learn(lambda rows: per_row * rows, calls=16)

    assert batch_size.is_slow
    assert batch_size.current() == max(LEAST, int(LONGEST / per_row) // LEAST * LEAST)
    assert max(took) <= max(LONGEST, LEAST * per_row)


def test_one_slow_call_does_not_change_the_batch_size() -> None:
    """Of the trials of a size the fastest counts: the machine was busy in the others."""
    seen: list[int] = []

    def disturbed(rows: int) -> float:
        seen.append(rows)
        first_of_largest = rows == BatchSize.LARGEST and seen.count(rows) == 1
        return (1e-4 + 1e-7 * rows) * (20 if first_of_largest else 1)

    batch_size, took = learn(disturbed)

    assert max(took) < LONGEST
    assert batch_size.current() == BatchSize.LARGEST


def test_calls_much_smaller_than_the_batch_size_are_ignored() -> None:
    batch_size = BatchSize()
    first = batch_size.current()

    for _ in range(100):
        batch_size.record(first, first // 2 - 1, 1.0)

    assert batch_size.current() == first


@given(
    most=st.integers(1, 20_000),
    count=st.integers(1, 50_000),
    fault=st.sampled_from([MemoryError(), ExplainError(Reason.OUT_OF_MEMORY, "too much")]),
)
def test_calls_have_fewer_rows_where_memory_does_not_suffice(
    most: int, count: int, fault: Exception
) -> None:
    batch_size, done = BatchSize(), 0

    def call(rows: slice, size: int) -> int:
        assert rows.start == done
        if rows.stop - rows.start > most:
            raise fault
        batch_size.record(size, rows.stop - rows.start, 1e-7 * size)
        return int(rows.stop)

    try:
        while done < count:
            _, done = call_within_memory(batch_size, call, done, count)
    except type(fault):
        assert most < min(2 * ALIGNMENT - 1, count)
    else:
        assert done == count


def test_other_errors_of_a_call_are_raised_at_once() -> None:
    calls = []

    def call(rows: slice, _size: int) -> None:
        calls.append(rows)
        raise ExplainError(Reason.PREDICTION_FAILED, "the model failed")

    with pytest.raises(ExplainError, match="the model failed"):
        call_within_memory(BatchSize(), call, 0, 1_000)
    assert len(calls) == 1
