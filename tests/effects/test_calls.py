"""Batch size and threads: neither changes a number."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import numpy as np
import pytest
from onnxplain_server.effects.batch_size import BatchSize

RANDOM = np.random.default_rng(5)
COLUMNS = {
    "x": RANDOM.normal(size=150),
    "y": RANDOM.normal(size=150).round(1),
    "t": RANDOM.choice(["a", "b", "c"], 150).tolist(),
}


def function(x, y, t):
    text = np.array([ord(value) - 97.0 for value in t])
    return np.stack([np.sin(x * y) + text * x, np.exp(x) - text], axis=1)


def numbers(engine):
    """Every effect that there is, in one array."""
    parts = [engine.effects.outputs()]
    for single in engine.effects.single([0, 1, 2]):
        parts += [single.own, single.others]
    for groups in ([(0, 1), (0, 2), (1, 2)], [(0, 1, 2)]):
        for joint in engine.effects.joint(groups):
            parts += [joint.whole, joint.pure]
    parts.append(engine.effects.curve([0, 2], [np.linspace(-1, 1, 9), np.array(["a"] * 9, object)]))
    return np.concatenate(parts)


@pytest.fixture(scope="module")
def usual(make):
    return numbers(make.engine(function, COLUMNS, n_outputs=2))


@pytest.mark.parametrize(
    ("size", "threads"), [(1, 2), *((s, t) for s in (7, 64, 1000, 16000) for t in (1, 2, 4))]
)
def test_size_of_calls_and_number_of_threads_change_nothing(
    make, usual, size: int, threads: int
) -> None:
    engine = make.engine(
        function, COLUMNS, n_outputs=2, batch_size=make.batch_size(size), threads=threads
    )

    assert numbers(engine).tobytes() == usual.tobytes()


@pytest.mark.parametrize("size", [16, 64, 1000])
def test_calls_are_larger_than_asked_for_by_a_rest_below_16_rows_only(make, size: int) -> None:
    engine = make.engine(function, COLUMNS, n_outputs=2, batch_size=make.batch_size(size))

    numbers(engine)

    assert max(engine.model.calls) < size + 16
    assert all(rows >= 16 for rows in engine.model.calls)


def test_calls_are_as_large_as_allowed(make) -> None:
    columns = {"x": np.arange(90), "y": np.arange(90)}
    engine = make.engine(lambda x, y: x * y, columns, batch_size=make.batch_size(1000))

    list(engine.effects.single([0]))

    # 8,100 rows; 1,000 rounded down to a multiple of 16.
    assert engine.model.calls == 8 * [992] + [164]


def test_rows_that_do_not_fit_a_call_are_predicted_in_slices(make) -> None:
    n = 2 * BatchSize.LARGEST + 5
    columns = {"x": np.arange(n), "y": np.arange(n) % 7}
    engine = make.engine(lambda x, y: x * y, columns, batch_size=make.batch_size(BatchSize.LARGEST))

    curve = engine.effects.curve([1], [np.array([2.0, 10.0])])

    assert engine.model.calls == 2 * [BatchSize.LARGEST, BatchSize.LARGEST + 5]
    assert curve.ravel() == pytest.approx([n - 1, 5 * (n - 1)])


def test_calls_run_in_parallel(make) -> None:
    """Two calls meet at a barrier, which one alone would never pass."""
    barrier = threading.Barrier(2, timeout=120)
    met: set[int] = set()

    def wait(x, y):
        if len(x) > 300 and threading.get_ident() not in met:
            met.add(threading.get_ident())
            barrier.wait()
        return x + y

    columns = {"x": np.arange(300), "y": np.arange(300)}
    engine = make.engine(wait, columns, batch_size=make.batch_size(3000), threads=2)

    list(engine.effects.single([0]))

    assert len(met) == 2


def effects_of(engine) -> list[list[float]]:
    singles = list(engine.effects.single([0, 1, 2]))
    joints = list(engine.effects.joint([(0, 1), (0, 2), (1, 2)]))
    curves = list(engine.effects.curves([([j], [np.linspace(0, 1, 7)]) for j in range(3)]))
    parts = [*(s.own for s in singles), *(s.others for s in singles), *(j.whole for j in joints)]
    return [part.ravel().tolist() for part in (*parts, *curves)]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [64, 1000, 16_000])
def test_effects_do_not_depend_on_threads_calls_or_sweeps_side_by_side(make, threads, size) -> None:
    random = np.random.default_rng(0)
    columns = {"x": random.normal(size=60), "y": random.normal(size=60), "z": np.arange(60) % 3}
    weights = random.uniform(0.1, 3, 60)

    def engine(threads: int, batch_size: BatchSize):
        return make.engine(
            lambda x, y, z: np.exp(x) * y + z * x,
            columns,
            weights,
            batch_size=batch_size,
            threads=threads,
        )

    alone = engine(1, make.batch_size(500))
    together = engine(threads, make.batch_size(size, row_seconds=1e-9))

    assert effects_of(together) == effects_of(alone)
    assert together.model.predicted == alone.model.predicted


def test_short_sweeps_run_side_by_side(make) -> None:
    """The calls of two sweeps meet at a barrier, which those of one alone would never pass."""
    barrier = threading.Barrier(2, timeout=120)

    def wait(x, y):
        barrier.wait()
        return x + y

    columns = {"x": np.arange(30), "y": np.arange(30)}
    batch_size = make.batch_size(3000, row_seconds=1e-6)
    engine = make.engine(wait, columns, batch_size=batch_size, threads=2)

    singles = list(engine.effects.single([0, 1]))

    for single in singles:
        assert single.own[:, 0] == pytest.approx(np.arange(30) + 14.5)
    assert engine.model.calls == [900, 900]


def test_sweeps_of_a_slow_model_run_side_by_side_where_one_is_too_short_for_all_threads(
    make,
) -> None:
    """A sweep of 900 rows is one block, which one thread predicts."""
    barrier = threading.Barrier(2, timeout=120)

    def wait(x, y):
        barrier.wait()
        return x + y

    columns = {"x": np.arange(30), "y": np.arange(30)}
    batch_size = make.batch_size(3000, row_seconds=1.0)
    engine = make.engine(wait, columns, batch_size=batch_size, threads=2)

    list(engine.effects.single([0, 1]))

    assert engine.model.calls == [900, 900]


def test_long_sweeps_run_one_after_the_other(make) -> None:
    """So that a plan falls, and numbers reach the cache, as soon as each is done."""
    columns = {"x": np.arange(240), "y": np.arange(240)}
    batch_size = make.batch_size(BatchSize.LARGEST, row_seconds=1.0)
    engine = make.engine(lambda x, y: x + y, columns, batch_size=batch_size, threads=2)

    next(engine.effects.single([0, 1]))

    assert sum(engine.model.calls) == 240 * 240  # four blocks


def test_calls_do_not_share_buffers(make) -> None:
    """While a model looks at its rows, they stay as they were given to it."""
    spoilt = []

    def look(x, y):
        before = x.copy(), y.copy()
        time.sleep(1e-3)  # others make their rows meanwhile, as many as come to it
        spoilt.append(not (np.array_equal(before[0], x) and np.array_equal(before[1], y)))
        return x + y

    columns = {"x": np.arange(400), "y": np.arange(400)}
    engine = make.engine(look, columns, batch_size=make.batch_size(2000), threads=4)

    list(engine.effects.single([0, 1]))

    assert len(spoilt) > 100
    assert not any(spoilt)


def test_buffers_of_one_sweep_do_not_leak_into_the_next(make) -> None:
    fresh = [make.engine(function, COLUMNS, n_outputs=2) for _ in range(3)]
    used = make.engine(function, COLUMNS, n_outputs=2)
    points = np.array([9.0, -9.0])

    expected = [
        fresh[0].effects.curve([0], [points]),
        fresh[1].effects.curve([1], [points[:1]]),
        fresh[2].effects.curve([0, 1], [points, points]),
    ]
    curves = [
        used.effects.curve([0], [points]),
        used.effects.curve([1], [points[:1]]),
        used.effects.curve([0, 1], [points, points]),
    ]

    for one, other in zip(curves, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 3])
def test_results_are_in_the_order_of_the_parts(make, threads: int) -> None:
    predictor = make.engine(lambda x: x, {"x": [1.0, 2.0]}, threads=threads).predictor

    def later_parts_are_quicker(part: int) -> int:
        time.sleep((50 - part) * 1e-5)
        return part * part

    squares = predictor.in_parallel(later_parts_are_quicker, range(50))

    assert squares == [part * part for part in range(50)]
    assert predictor.in_parallel(later_parts_are_quicker, []) == []


def test_every_free_thread_takes_parts(make) -> None:
    """Three parts meet at a barrier, which two threads would never pass."""
    predictor = make.engine(lambda x: x, {"x": [1.0, 2.0]}, threads=3).predictor
    barrier = threading.Barrier(3, timeout=120)

    assert len(predictor.in_parallel(lambda _part: barrier.wait(), range(9))) == 9


@pytest.mark.parametrize("error", [IndexError, ValueError])
def test_after_an_error_no_further_part_starts(make, error: type[Exception]) -> None:
    predictor = make.engine(lambda x: x, {"x": [1.0, 2.0]}).predictor
    started: list[int] = []

    def fail_at_three(part: int) -> None:
        started.append(part)
        if part == 3:
            raise error("a fault")

    with pytest.raises(error, match="a fault"):
        predictor.in_parallel(fail_at_three, range(10))

    assert started == [0, 1, 2, 3]


def test_results_are_freed_without_the_garbage_collector(make) -> None:
    """Cycles of references would keep the results of many sweeps until it runs."""
    predictor = make.engine(lambda x: x, {"x": [1.0, 2.0]}, threads=2).predictor
    gc.disable()
    try:
        results = predictor.in_parallel(lambda _part: np.zeros(1), range(9))
        held = [weakref.ref(result) for result in results]
        del results
        end = time.monotonic() + 60
        while any(ref() is not None for ref in held) and time.monotonic() < end:
            time.sleep(0.001)  # until the last task has left its thread
    finally:
        gc.enable()

    assert [ref() for ref in held] == [None] * 9


def test_an_error_stops_the_parts_that_other_threads_compute(make) -> None:
    started, engine = threading.Event(), make.engine(lambda x: x, {"x": [1.0, 2.0]}, threads=2)

    def fail_or_predict(part: int) -> None:
        if part == 0:
            assert started.wait(120)
            raise ValueError("a fault")
        started.set()
        for _ in range(30_000):  # five minutes, unless the other part ends it
            time.sleep(0.01)
            engine.predictor.predict({"x": np.ones((1, 1))}, 1, 1000)

    with pytest.raises(ValueError, match="a fault"):
        engine.predictor.in_parallel(fail_or_predict, range(2))

    assert len(engine.model.calls) < 30_000
