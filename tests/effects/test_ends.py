"""Early end of a computation: cancellation, errors and non-finite predictions."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason

from tools.waiting import until

N = 200
COLUMNS = {"x": np.arange(N), "y": np.arange(N) * 2.0}


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("steps", [0, 1, 10])
def test_a_computation_ends_within_one_call_of_each_thread(make, threads: int, steps: int) -> None:
    host = make.host(steps)
    engine = make.engine(
        lambda x, y: x * y, COLUMNS, host=host, batch_size=make.batch_size(400), threads=threads
    )

    with pytest.raises(ExplainError, match="the caller has gone") as end:
        list(engine.effects.single([0, 1]))

    assert end.value.reason is Reason.CANCELLED
    assert len(engine.model.calls) <= steps + threads


def test_a_cancelled_computation_makes_no_further_calls(make) -> None:
    engine = make.engine(
        lambda x, y: x * y, COLUMNS, host=make.host(3), batch_size=make.batch_size(400)
    )
    with pytest.raises(ExplainError):
        list(engine.effects.single([0]))
    calls = len(engine.model.calls)

    with pytest.raises(ExplainError):
        list(engine.effects.single([1]))

    assert len(engine.model.calls) == calls


def test_the_error_of_one_thread_ends_the_others_and_is_the_one_that_surfaces(make) -> None:
    """Every other call is held up until one has failed and that is known; none may follow it."""
    lock, failed = threading.Lock(), threading.Event()
    after: list[int] = []

    def fail_once(x, y):
        with lock:
            first = not failed.is_set() and not after
            after.append(len(x))
        if first:
            failed.set()
            raise ExplainError(Reason.PREDICTION_FAILED, "no kernel for this operator")
        until(lambda: engine.predictor._has_failed)
        return x + y

    engine = make.engine(fail_once, COLUMNS, batch_size=make.batch_size(400), threads=4)

    with pytest.raises(ExplainError, match="no kernel") as end:
        list(engine.effects.single([0]))

    assert end.value.reason is Reason.PREDICTION_FAILED
    assert len(after) <= 4


def test_an_unexpected_error_surfaces_as_it_is(make) -> None:
    def broken(x, y):
        raise ZeroDivisionError

    engine = make.engine(broken, COLUMNS, threads=2)

    with pytest.raises(ZeroDivisionError):
        list(engine.effects.single([0]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_whose_prediction_is_not_finite_are_named_as_the_table_numbers_them(
    make, bad: float
) -> None:
    """Rows 10 to 50 of some table, of which two are equal and one weighs nothing."""
    columns = {"x": [1.0, 1.0, 2.0, 3.0, 4.0], "y": [5.0, 5.0, 6.0, 7.0, 8.0]}
    engine = make.engine(
        lambda x, _y: np.where(x >= 3, bad, x),
        columns,
        [1, 1, 0, 1, 1],
        source=[10, 20, 30, 40, 50],
    )

    with pytest.raises(ExplainError) as end:
        engine.effects.outputs()

    assert end.value.reason is Reason.NON_FINITE_PREDICTION
    assert "rows 40, 50 (counted from 0)" in end.value.message


def test_only_the_first_rows_are_named(make) -> None:
    engine = make.engine(lambda x, _y: x * np.nan, COLUMNS)

    with pytest.raises(ExplainError, match=r"rows 0, 1, 2, 3, 4 and \d+ more \("):
        engine.effects.outputs()


@pytest.mark.parametrize(("bad", "opposite"), [(np.nan, np.nan), (np.inf, -np.inf)])
@pytest.mark.parametrize("n", [6, 60])
def test_where_a_moved_value_breaks_the_model_it_is_named(
    make, n: int, bad: float, opposite: float
) -> None:
    """Finite at every row, as x = y there; broken only where the two differ."""
    columns = {"x": np.arange(n), "y": np.arange(n)}
    engine = make.engine(
        lambda x, y: np.where(x - y == 5, bad, np.where(x - y == 4, opposite, x)), columns
    )
    engine.effects.outputs()

    with pytest.raises(ExplainError, match=r"when x = [45]\.0") as end:
        list(engine.effects.single([0]))

    assert end.value.reason is Reason.NON_FINITE_PREDICTION


def test_a_point_of_a_surface_that_breaks_the_model_is_named(make) -> None:
    engine = make.engine(
        lambda x, t: np.where((x == 7) & (t == "b"), np.nan, x),
        {"x": [1.0, 2.0, 3.0], "t": ["a", "b", "c"]},
    )

    with pytest.raises(ExplainError, match=r"when x = 7\.0 and t = b"):
        engine.effects.curve([0, 1], [np.array([1.0, 7.0]), np.array(["b", "b"], object)])


def test_one_broken_output_among_several_is_an_error(make) -> None:
    engine = make.engine(
        lambda x, y: np.stack([x, np.where(x == 2, np.nan, y)], axis=1), COLUMNS, n_outputs=2
    )

    with pytest.raises(ExplainError, match=r"row 2 \("):
        engine.effects.outputs()


def test_non_finite_predictions_are_not_cached(make) -> None:
    host = make.host()
    engine = make.engine(lambda x, y: np.where(x - y == -3, np.nan, x), COLUMNS, host=host)

    with pytest.raises(ExplainError):
        list(engine.effects.single([0]))

    assert host.values == {}
