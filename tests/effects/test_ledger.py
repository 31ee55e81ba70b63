"""Ledger: progress, predicted rows and cache hits."""

from __future__ import annotations

import numpy as np
from onnxplain_server.core.arrays import pack
from onnxplain_server.effects.ledger import Ledger


def test_progress_reports_done_and_planned_rows(make) -> None:
    host = make.host()
    ledger = Ledger(host)

    ledger.reserve(100)
    ledger.spend(10, 10)
    ledger.release(30)
    ledger.spend(20, 5)

    assert host.progress == [(10, 100), (10, 70), (30, 70)]
    assert ledger.predicted == 15


def test_the_plan_is_never_below_the_rows_done(make) -> None:
    host = make.host()
    ledger = Ledger(host)

    ledger.spend(10, 10)

    assert host.progress == [(10, 10)]


def test_an_effect_with_a_missing_array_is_a_cache_miss(make) -> None:
    host = make.host()
    ledger = Ledger(host)
    arrays = {"a0": np.arange(3.0), "a1": np.ones(3), "b0": np.zeros(3)}
    ledger.put_bytes({name: pack(array) for name, array in arrays.items()})

    both, half, other = ledger.cache_get([["a0", "a1"], ["b0", "b1"], ["a0"]], [(3,), (3,), (4,)])

    assert both is not None
    assert [array.tolist() for array in both] == [[0, 1, 2], [1, 1, 1]]
    assert half is None
    assert other is None
    assert (ledger.hits, ledger.misses) == (1, 2)


def test_an_empty_lookup_makes_no_round_trip(make) -> None:
    host = make.host()

    assert Ledger(host).cache_get([], []) == []
    assert host.round_trips == 0


def test_rows_outside_the_plan_are_neither_looked_up_nor_stored(make) -> None:
    """A trial on rows of an answer in the cache would tell nothing of the time."""
    host = make.host()
    Ledger(host).put_bytes({"a": pack(np.arange(3.0))})
    trial = Ledger(host).unplanned()

    trial.put_bytes({"b": pack(np.ones(3))})

    assert trial.cache_get([["a"]], [(3,)]) == [None]
    assert Ledger(host).cache_get([["b"]], [(3,)]) == [None]
