"""Time of attributions on trees behind a link: by the rows explained, timed on a few."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxplain
import pytest
from onnxplain_server.explain.methods import attributions
from onnxplain_server.explain.methods.attributions import effort
from onnxplain_server.explain.planning import repetition_seconds, time_trials
from onnxplain_server.methods.attributions import Options

MODEL = Path(__file__).parents[2] / "models/lightgbm_binary.onnx"


def asked(*, is_exact: bool = False, predicts: bool = False) -> Any:
    """A request on trees with 500 rows."""
    effects = SimpleNamespace(exact_attributions=lambda: object() if is_exact else None)
    return SimpleNamespace(
        choice=SimpleNamespace(predicts=predicts),
        effects=effects,
        sample=SimpleNamespace(rows=np.arange(500)),
        trial=lambda rows, _number: rows,
    )


def job(options: Options) -> Any:
    return SimpleNamespace(options=options, rows=SimpleNamespace(drawn=400))


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (Options(explained_row_count=100), 100),
        (Options(explained_row_count=9_000), 500),
        (Options(row_indices=tuple(range(7))), 7),
    ],
)
def test_time_is_that_of_one_row_and_of_each_further_one(
    monkeypatch, options: Options, count: int
) -> None:
    def timed(background: int, own: Options) -> float:
        assert background == 400  # all of it: further rows explained take none of its time
        return 3.0 + 0.5 * (len(own.row_indices) or own.explained_row_count)

    monkeypatch.setattr(effort, "_seconds_of", timed)

    seconds = attributions.PREPARATION.seconds(asked(), job(options))

    assert seconds == pytest.approx(3.0 + 0.5 * count)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (Options(explained_row_count=9_000), 500),
        (Options(row_indices=tuple(range(40))), 40),
        (Options(row_indices=(7,)), 1),
    ],
)
def test_exact_values_are_timed_by_rows_explained_and_by_rows_of_the_background(
    monkeypatch, options: Options, count: int
) -> None:
    """Whatever the rows explained, the background alone must not tell the time of all."""
    tried = []

    def timed(background: int, own: Options) -> float:
        explained = min(len(own.row_indices) or own.explained_row_count, 500)
        tried.append((background, explained))
        return 2.0 + 0.25 * background + 0.5 * explained

    monkeypatch.setattr(effort, "_seconds_of", timed)

    seconds = attributions.PREPARATION.seconds(asked(is_exact=True), job(options))

    assert seconds == pytest.approx(2.0 + 0.25 * 400 + 0.5 * count)
    assert max(background + explained for background, explained in tried) <= 330


def test_values_that_predict_are_timed_by_trials_on_few_rows() -> None:
    assert attributions.PREPARATION.seconds(asked(predicts=True), job(Options())) is None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that goes on with each order of a row that is timed."""
    made = SimpleNamespace(now=0.0, order_seconds=1e-3)

    def timed(_request: Any, options: Options) -> float:
        seconds: float = (
            made.order_seconds * options.explained_row_count * options.permutation_count
        )
        made.now += 2 * seconds
        return seconds

    monkeypatch.setattr(effort, "_seconds_of", timed)
    for module in (repetition_seconds, time_trials):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: made.now))
    return made


def asked_of(call: str, **asked: Any) -> Any:
    """Call a method of a client for the attributions of 100 of 300 rows."""
    with onnxplain.local() as client:
        width = client.describe(MODEL).inputs[0].width
        random = np.random.default_rng(2)
        columns = {f"x{j}": random.normal(size=300) for j in range(width)}
        method = onnxplain.Attributions(explained_row_count=100, permutation_count=200)
        return getattr(client, call)(MODEL, columns, method, scale="RESPONSE", plots=False, **asked)


def budgeted(seconds: float) -> onnxplain.Explanations:
    answer: onnxplain.Explanations = asked_of("explain", budget_seconds=seconds)
    return answer


def test_a_plan_names_what_halves_the_time(clock) -> None:
    clock.order_seconds = 1.0

    found = {saving.field: saving.time_share for saving in asked_of("plan").savings}

    assert found == {
        "methods[0].attributions.permutation_count": pytest.approx(0.5),
        "methods[0].attributions.explained_row_count": pytest.approx(0.5),
    }


@pytest.mark.parametrize(
    ("seconds", "orders", "explained"),
    [(40, 200, 100), (20, 100, 100), (5, 25, 100), (3, 25, 50), (1, 25, 25)],
)
def test_a_budget_saves_orders_then_rows_explained_and_no_background(
    clock, seconds: float, orders: int, explained: int
) -> None:
    answer = budgeted(seconds)

    told = " ".join(w.message for w in answer.warnings if w.code == "BUDGET_REDUCED")
    assert answer.attributions.options.permutation_count == orders
    assert len(answer.attributions.predictions) == explained
    assert (f"{orders} pairs of orders instead of 200" in told) is (orders < 200)
    assert (f"for {explained} rows explained instead of 100" in told) is (explained < 100)
    assert " rows instead of " not in told
    assert clock.now < seconds


def test_a_budget_below_the_fewest_orders_is_refused_with_one_that_reaches(clock) -> None:
    clock.order_seconds = 1e-2
    with pytest.raises(onnxplain.ExplainError, match="set budget_seconds to ") as refused:
        budgeted(2)
    enough = float(str(refused.value).split("budget_seconds to ")[1].split()[0])

    assert len(budgeted(enough).attributions.predictions) >= 10
