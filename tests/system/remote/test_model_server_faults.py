"""Faults before and of a real server of models: right numbers or a clear error, never a mixture."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.core.errors import ExplainError, Reason

from tools.ports import free_port
from tools.remote import servers
from tools.remote.servers import ModelServer
from tools.stores.faults import Fault
from tools.stores.proxy import proxy

pytestmark = pytest.mark.slow

CALL_COUNT = 200
ROW_COUNT = 15


def some_fault(draws: np.random.Generator) -> Fault:
    """Return a fault of one call."""
    return (
        Fault(status=503),
        Fault(status=502),
        Fault(status=429, retry_after_seconds=1),
        Fault(cut_after=10),
        Fault(pause_seconds=0.2),
    )[draws.integers(5)]


@pytest.mark.parametrize("protocol", ["OIP_REST", "KSERVE_V1"])
def test_numbers_are_right_though_one_call_in_twenty_fails(
    kserve: ModelServer, open_model: Any, read_case: Any, protocol: str
) -> None:
    case = read_case(kserve, "forest")
    draws = np.random.default_rng(5)
    subsets = [draws.integers(300, size=ROW_COUNT) for _ in range(CALL_COUNT)]
    fails = draws.random(CALL_COUNT) < 0.05
    faults = [some_fault(draws) if is_failing else None for is_failing in fails]

    with proxy(kserve.url) as server:
        model = open_model(protocol, server.url, "forest", inputs=case.inputs)
        model.predict({"rows": case.feeds["rows"][:1]})

        def ask(call: int) -> bool:
            if fault := faults[call]:
                server.faults.add(fault)
            answer = model.predict({"rows": case.feeds["rows"][subsets[call]]})
            return bool(np.abs(answer - case.predictions[subsets[call]]).max() <= 1e-6)

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(ask, range(CALL_COUNT)))
        repeated = len(server.traffic.of(method="POST")) - CALL_COUNT - 1

    assert 0 < repeated <= fails.sum()


def test_a_slow_server_is_waited_for(kserve: ModelServer, open_model: Any, read_case: Any) -> None:
    case = read_case(kserve, "forest")
    is_held = threading.Event()

    with proxy(kserve.url) as server:
        model = open_model("KSERVE_V1", server.url, "forest", inputs=case.inputs)
        server.faults.add(Fault(held_by=is_held))
        threading.Timer(2.0, is_held.set).start()
        answer = model.predict(case.feeds)

    np.testing.assert_allclose(answer, case.predictions, rtol=0, atol=1e-6)


def test_a_server_that_answers_too_late_is_told(
    kserve: ModelServer, open_model: Any, read_case: Any
) -> None:
    case = read_case(kserve, "forest")
    is_held = threading.Event()
    policy = RemotePolicy(timeout_seconds=1.0, retry_seconds=2.0)

    with proxy(kserve.url) as server:
        model = open_model("KSERVE_V1", server.url, "forest", policy, inputs=case.inputs)
        server.faults.add(Fault(held_by=is_held, count=1_000))
        with pytest.raises(ExplainError) as raised:
            model.predict(case.feeds)

    assert raised.value.reason is Reason.REMOTE_MODEL_UNAVAILABLE
    assert "no answer in 1 s" in raised.value.message


@pytest.mark.parametrize("protocol", ["OIP_REST", "OIP_GRPC", "KSERVE_V1"])
def test_a_restart_on_the_way_is_waited_for(
    program: Callable[[str], str], tmp_path: Path, open_model: Any, read_case: Any, protocol: str
) -> None:
    python, ports = program("kserve"), (free_port(), free_port())
    expected = servers.make_models(python, "kserve", tmp_path)
    with ExitStack() as first, ThreadPoolExecutor(3) as pool:
        server = first.enter_context(servers.kserve_again(python, tmp_path, *ports, expected))
        case = read_case(server, "forest")
        uri = server.grpc_url if protocol == "OIP_GRPC" else server.url
        model = open_model(protocol, uri, "forest", inputs=case.inputs)
        model.predict(case.feeds)
        first.close()
        calls = [pool.submit(model.predict, case.feeds) for _ in range(3)]
        with servers.kserve_again(python, tmp_path, *ports, expected):
            answers = [call.result() for call in calls]

    for answer in answers:
        np.testing.assert_allclose(answer, case.predictions, rtol=0, atol=1e-6)
