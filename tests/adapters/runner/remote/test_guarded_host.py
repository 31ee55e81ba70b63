"""Cache of a remote model's numbers: only between two equal answers to its probe rows."""

from __future__ import annotations

from typing import Any

import pytest
from onnxplain_server.adapters.runner.remote import guarded_host
from onnxplain_server.adapters.runner.remote.guarded_host import GuardedHost
from onnxplain_server.core.errors import ExplainError, Reason


def changed() -> None:
    raise ExplainError(Reason.REMOTE_MODEL_CHANGED, "another model")


def test_numbers_reach_the_cache_with_the_next_check_under_their_scope(make: Any) -> None:
    host, checks = make.host(), []
    guarded = GuardedHost(host)
    guarded.guard("a model", lambda: checks.append(len(host.values)))

    guarded.cache_put({"x": b"1"})
    assert guarded.cache_get(["x", "y"]) == [b"1", None]
    assert host.values == {}
    guarded.settle()

    assert checks == [0]
    assert list(host.values.values()) == [b"1"]
    assert guarded.cache_get(["x"]) == [b"1"]
    other = GuardedHost(host)
    other.guard("another model", lambda: None)
    assert other.cache_get(["x"]) == [None]


def test_numbers_of_a_model_that_was_replaced_are_never_cached(make: Any) -> None:
    host = make.host()
    guarded = GuardedHost(host)
    guarded.guard("a model", changed)
    guarded.cache_put({"x": b"1"})

    with pytest.raises(ExplainError, match="another model"):
        guarded.settle()
    with pytest.raises(ExplainError, match="another model"), guarded.single_flight("f"):
        pass

    assert host.values == {}


def test_without_a_scope_numbers_stay_in_the_request(make: Any) -> None:
    host = make.host()
    guarded = GuardedHost(host)
    guarded.guard("", lambda: None)

    guarded.cache_put({"x": b"1"})
    guarded.settle()

    assert guarded.cache_get(["x"]) == [b"1"]
    assert host.values == {}


def test_a_long_computation_checks_on_the_way(make: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(guarded_host, "_SECONDS_BETWEEN_CHECKS", 0.0)
    host = make.host()
    guarded = GuardedHost(host)
    guarded.guard("a model", lambda: None)

    guarded.cache_put({"x": b"1"})

    assert list(host.values.values()) == [b"1"]


def test_what_a_request_remembers_without_a_scope_is_bounded(make: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(guarded_host, "_REQUEST_BYTES", 10)
    guarded = GuardedHost(make.host())
    guarded.guard("", lambda: None)

    guarded.cache_put({"x": b"12345678"})
    guarded.cache_put({"y": b"12345678"})

    assert guarded.cache_get(["x", "y"]) == [b"12345678", None]


def test_control_of_calls_ends_with_the_request(make: Any) -> None:
    guarded = GuardedHost(make.host(1))
    guarded.advance(1, 2)

    with pytest.raises(ExplainError) as raised:
        guarded.check("during a call")

    assert raised.value.reason is Reason.CANCELLED
