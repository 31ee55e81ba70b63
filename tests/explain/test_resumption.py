"""Resumption: a process that dies leaves work that the next attempt finds, with the same bits."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import numpy as np
import pytest
from onnxplain_server.effects.recording import journal
from onnxplain_server.methods import (
    average_loss,
    firm,
    individual_conditional_expectation,
    interactions,
    partial_dependence,
    permutation_importance,
    swarm,
)
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.resampling import Resampling

ROWS = 120
RANDOM = np.random.default_rng(0)
COLUMNS = {
    "a": RANDOM.normal(size=ROWS),
    "b": RANDOM.normal(size=ROWS),
    "c": RANDOM.integers(0, 3, ROWS),
    "d": RANDOM.integers(0, 4, ROWS),
    "y": RANDOM.integers(0, 2, ROWS),
}
FEATURES = tuple("abcd")
SEARCHED = swarm.SearchSettings(particle_count=4, iteration_count=6)
EVOLUTION = swarm.Search.DIFFERENTIAL_EVOLUTION
EACH = Comparison(target_columns=("y", "y"))
METHODS = {
    "interactions": interactions.Options(threeway_feature_count=3),
    "interactions with replicates": interactions.Options(resampling=Resampling(repeat_count=20)),
    "interactions of groups": interactions.Options(groups=(("a", "d"),)),
    "interactions between knots": interactions.Options(knot_count=8),
    "partial dependence": partial_dependence.Options(),
    "surfaces": partial_dependence.Options(features=(("a", "b"),)),
    "individual curves": individual_conditional_expectation.Options(),
    "permutation importance": permutation_importance.Options(repeat_count=10, comparison=EACH),
    "average loss": average_loss.Options(comparison=EACH),
    "swarm": swarm.Options(search_settings=SEARCHED),
    "swarm by evolution": swarm.Options(search=EVOLUTION, search_settings=SEARCHED),
    "firm": firm.Options(estimator=firm.Estimator.TAYLOR, features=("a", "b")),
}


class Died(BaseException):
    """The end of the process: nothing after it reaches the cache."""


def function(a, b, c, d):
    score = np.sin(a * b) + c * d + np.exp(a) * c
    return np.stack([-score, score], axis=1)


class Attempt:
    """An attempt at a request, which ends where it has predicted so many rows.

    Attributes
    ----------
    predicted : int
        Rows that reached the model.
    """

    def __init__(self, make, host, deadly: float = float("inf")) -> None:
        self.predicted = 0
        self._make = make
        self._host = host
        self._deadly = deadly
        self._lock = threading.Lock()

    def run(self, method, threads: int, size: int) -> bytes:
        make = self._make
        model = make.model(self._predict, FEATURES, ["double"] * 4, n_outputs=2)
        model.output_names = ("0", "1")
        batch_size = make.batch_size(size, row_seconds=1e-3)
        answer = make.answer(
            model,
            make.table(COLUMNS),
            method,
            host=self._host,
            batch_size=batch_size,
            threads=threads,
            feature_columns=FEATURES,
            target_column="y",
        )
        return bits(answer.explanations[0].result)

    def _predict(self, *columns):
        with self._lock:
            if self._host.is_dead or self.predicted + len(columns[0]) > self._deadly:
                self._host.is_dead = True
                raise Died
            self.predicted += len(columns[0])
        return function(*columns)


@pytest.fixture
def new_host(make, monkeypatch):
    """Return a maker of hosts whose cache takes nothing after a death."""
    monkeypatch.setattr(journal, "_SECONDS_BETWEEN_WRITES", 0.0)

    class Host(make.host):  # type: ignore[misc, name-defined]
        is_dead = False

        def cache_put(self, entries) -> None:
            if not self.is_dead:
                super().cache_put(entries)

    return Host


def bits(value: Any) -> bytes:
    """Serialize a result to the last bit."""
    if isinstance(value, np.ndarray):
        content: bytes = value.tobytes()
        return f"{value.dtype.str} {value.shape}".encode() + content
    if dataclasses.is_dataclass(value):
        parts = (bits(getattr(value, field.name)) for field in dataclasses.fields(value))
        return b"".join(parts)
    if isinstance(value, (list, tuple)):
        return b"(" + b",".join(map(bits, value)) + b")"
    if isinstance(value, dict):
        return bits(list(value.items()))
    return repr(value).encode()


@pytest.mark.parametrize(
    ("name", "share"), [*((name, 0.5) for name in METHODS), ("interactions", 0.1), ("swarm", 0.9)]
)
def test_the_next_attempt_goes_on_where_one_ended(make, new_host, name: str, share: float) -> None:
    method = METHODS[name]
    whole = Attempt(make, new_host())
    expected = whole.run(method, threads=2, size=48)

    host = new_host()
    first = Attempt(make, host, deadly=share * whole.predicted)
    with pytest.raises(Died):
        first.run(method, threads=2, size=48)
    host.is_dead = False
    second = Attempt(make, host)
    answer = second.run(method, threads=1, size=1024)

    # What was in flight on two threads is lost: a call, and the rest of a record, each.
    twice = first.predicted + second.predicted - whole.predicted
    assert twice <= max(0.1 * whole.predicted, 2 * (48 + 64))
    assert answer == expected


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("size", "threads"), [(16, 4), (16_384, 2)])
def test_answers_do_not_depend_on_calls_threads_or_pace(make, name, size, threads) -> None:
    method = METHODS[name]
    usual = Attempt(make, alive(make)).run(method, threads=1, size=200)

    assert Attempt(make, alive(make)).run(method, threads, size) == usual


def alive(make):
    host = make.host()
    host.is_dead = False
    return host


@pytest.mark.parametrize("name", ["interactions", "swarm", "permutation importance"])
def test_several_deaths_lose_no_more_than_one_each(make, new_host, name: str) -> None:
    method, deaths = METHODS[name], 6
    whole = Attempt(make, new_host())
    expected = whole.run(method, threads=1, size=48)

    host, predicted = new_host(), 0
    for _ in range(deaths):
        attempt = Attempt(make, host, deadly=whole.predicted / (deaths + 1))
        with pytest.raises(Died):
            attempt.run(method, threads=1, size=48)
        host.is_dead = False
        predicted += attempt.predicted
    last = Attempt(make, host)

    assert last.run(method, threads=1, size=48) == expected
    assert predicted + last.predicted <= whole.predicted + deaths * (48 + 64)


def test_cached_numbers_are_those_that_another_order_of_methods_computes(make) -> None:
    """Curves and interactions share numbers, so each must sum as the other does."""
    curves, strength = METHODS["partial dependence"], METHODS["interactions"]
    alone = [Attempt(make, alive(make)).run(method, 1, 64) for method in (curves, strength)]

    host = alive(make)
    together = [Attempt(make, host).run(method, 1, 64) for method in (strength, curves)]

    assert together == [alone[1], alone[0]]
