"""Size of calls to a remote: as large as its way is long, as small as its rows are slow."""

from __future__ import annotations

import pytest
from onnxplain_server.adapters.runner.remote.call_slots import CallSlots
from onnxplain_server.adapters.runner.remote.network_batch_size import NetworkBatchSize
from onnxplain_server.effects.batch_size import ALIGNMENT, next_call


def settled(row_limit: int, call_seconds: float, row_seconds: float) -> NetworkBatchSize:
    """Time calls of a model until the size is learned."""
    size = NetworkBatchSize(row_limit, CallSlots(4))
    for _ in range(100):
        rows = size.current()
        size.record(rows, rows, call_seconds + rows * row_seconds)
    assert size.is_settled
    return size


@pytest.mark.parametrize(
    ("call_seconds", "row_seconds", "expected"),
    [
        (2.0, 0.0, (1_500, 2_000)),  # a long way: the largest calls
        (0.01, 1e-6, (1_500, 2_000)),
        (0.0, 0.05, (16, 32)),  # slow rows: a call takes a second
        (2.0, 0.01, (64, 128)),  # both
    ],
)
def test_calls_are_large_until_their_rows_take_a_second(
    call_seconds: float, row_seconds: float, expected: tuple[int, int]
) -> None:
    size = settled(2_000, call_seconds, row_seconds)

    assert expected[0] <= size.current() <= expected[1]


@pytest.mark.parametrize("row_limit", [16, 31, 32, 100, 2_000, 10**6])
def test_calls_of_a_piece_have_some_rows_more_than_the_limit_at_most(row_limit: int) -> None:
    size = settled(row_limit, 0.01, 1e-7).current()

    for stop in range(1, 3 * row_limit if row_limit < 2_500 else 100, 7):
        start = 0
        while start < stop:
            rows = next_call(start, stop, size)
            assert rows.stop - rows.start < row_limit + ALIGNMENT
            start = rows.stop


def test_calls_are_as_large_as_the_limit() -> None:
    assert settled(2_000, 0.01, 1e-7).current() == 2_000


def test_the_pace_of_a_call_tells_the_rows_of_a_time() -> None:
    size = settled(2_000, 0.0, 1e-3)

    assert size.rows_in(1.0) == pytest.approx(1_000, rel=0.01)
    assert size.rows_side_by_side(0.0) >= 4 * size.LARGEST


def test_chance_in_short_calls_does_not_make_calls_small() -> None:
    """Calls of 64 rows that happen to wait 0.2 s tell nothing of calls of 256."""
    size = NetworkBatchSize(2_000, CallSlots(4))
    for _ in range(100):
        rows = size.current()
        size.record(rows, rows, 0.2 if rows == 64 else 0.01)

    assert size.current() > 1_500
