"""Block pool: results in order, computed ahead of their use, and stopped with it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Timer

import pytest
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.trees.kernels.block_pool import BlockPool


@pytest.fixture
def pool(make) -> Iterator[BlockPool]:
    with ThreadPoolExecutor(2) as threads:
        yield BlockPool(threads, Ledger(make.host()))


def test_a_stream_yields_results_in_the_order_of_the_parts(pool: BlockPool) -> None:
    """The first block ends after the second has begun."""
    began = Event()

    def square(part: int) -> int:
        if part:
            began.set()
        assert began.wait(60)
        return part * part

    assert list(pool.stream(square, range(9), ahead=3)) == [part * part for part in range(9)]


def test_a_stream_computes_as_many_parts_ahead_as_it_may(pool: BlockPool) -> None:
    started: list[int] = []
    done = {part: Event() for part in range(9)}

    def run(part: int) -> int:
        started.append(part)
        done[part].set()
        return part

    results = pool.stream(run, range(9), ahead=4)

    assert next(results) == 0
    assert all(done[part].wait(60) for part in range(4))
    assert next(results) == 1
    assert done[4].wait(60)
    assert sorted(started) == [0, 1, 2, 3, 4]


def test_closing_a_stream_cancels_the_parts_that_wait(pool: BlockPool) -> None:
    started: list[int] = []
    both, release = Barrier(3), Event()

    def run(part: int) -> None:
        started.append(part)
        if part in {1, 2}:
            both.wait(60)
            assert release.wait(60)

    results = pool.stream(run, range(9), ahead=8)
    next(results)
    both.wait(60)
    Timer(0.2, release.set).start()
    results.close()

    assert pool.run(lambda part: part, [1]) == [1]  # behind all that was not cancelled
    assert sorted(started) == [0, 1, 2]


def test_a_stream_raises_what_a_part_raised_and_cancels_the_others(pool: BlockPool) -> None:
    def run(part: int) -> int:
        if part == 1:
            raise ValueError("of part 1")
        return part

    results = pool.stream(run, range(50), ahead=5)

    assert next(results) == 0
    with pytest.raises(ValueError, match="of part 1"):
        list(results)
    assert pool.run(lambda part: part, [1]) == [1]
