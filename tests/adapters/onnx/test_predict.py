"""Predictions of a loaded model: byte order, threads, shapes, errors."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from onnxplain_server.adapters.onnx import evaluation, load
from onnxplain_server.core.model import Model


def identity(build):
    return load(build([build.node("Identity", "X", "y")]).SerializeToString())


def test_buffers_can_be_used_again_after_a_call(build) -> None:
    model = identity(build)
    rows = np.ones((4, 3), np.float32)

    answer = model.predict({"X": rows})
    rows[:] = 7

    assert (answer == 1).all()


def test_answers_stay_as_they_were_given(build) -> None:
    model = identity(build)
    first = model.predict({"X": np.ones((4, 3), np.float32)})

    model.predict({"X": np.zeros((4, 3), np.float32)})

    assert (first == 1).all()


def test_several_threads_at_once_get_each_their_own_answer(cases) -> None:
    case = cases["lightgbm_binary"]
    model = load(case.content)
    matrix = case.feeds(model.inputs)["X"]
    parts = [matrix[k : k + 5] for k in range(0, 40, 5)] * 50

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda rows: model.predict({"X": rows}), parts))

    expected = [model.predict({"X": rows}) for rows in parts]
    assert all(map(np.array_equal, answers, expected))


def test_rows_that_are_not_contiguous_are_read_right(build) -> None:
    rows = np.arange(24, dtype=np.float32).reshape(6, 4)

    answer = identity(build).predict({"X": rows[::2, 1:]})

    assert answer.tolist() == rows[::2, 1:].tolist()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_stays_so(build, bad) -> None:
    rows = np.full((2, 3), bad, np.float32)

    assert not np.isfinite(identity(build).predict({"X": rows})).any()


def test_a_call_of_many_rows_equals_calls_of_few(cases) -> None:
    case = cases["network_float"]
    model = load(case.content)
    matrix = case.feeds(model.inputs)["X"]

    few = np.concatenate([model.predict({"X": matrix[k : k + 3]}) for k in range(0, 40, 3)])

    assert model.predict({"X": matrix}) == pytest.approx(few, rel=1e-6)


def test_one_session_uses_one_thread(build) -> None:
    options = evaluation.open_session(build([build.node("Neg", "X", "y")])).get_session_options()

    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)


def test_large_constants_are_not_computed_at_load(build) -> None:
    """A model of a few bytes could otherwise ask for any amount of time before it is run."""
    chain = [build.node("ConstantOfShape", "shape", "m0")]
    chain += [build.node("MatMul", f"m{k} m{k}", f"m{k + 1}") for k in range(30)]
    ends = [build.node("ReduceSum", "m30", "s"), build.node("Add", "X s", "y")]
    huge = build([*chain, *ends], shape=np.array([1000, 1000]))
    matrix = np.ones((1000, 1000), np.float32)

    # The chain is 30 of these products.
    product = min(processor_seconds(lambda: matrix @ matrix) for _ in range(5))
    assert (
        min(processor_seconds(lambda: evaluation.open_session(huge)) for _ in range(3))
        < 10 * product
    )


def processor_seconds(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def test_it_is_a_model(cases) -> None:
    model: Model = load(cases["half"].content)

    assert model.predict({"X": np.zeros((1, 2), np.float32)}).dtype == np.float32
