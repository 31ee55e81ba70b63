"""Random valid requests of every method: an answer, or an error that names a field."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hostile.requests import METHODS, requests
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.wire import canonical

COUNT = int(os.environ.get("TEST_REQUESTS", "8"))
"""Requests per method; `make torture` sends more, each time others."""

SECONDS = 2.0
"""Time for each: those that ask for too much end by it."""

MODELS = [
    (Path(__file__).parents[1] / "models" / f"{name}.onnx").read_bytes()
    for name in ("lightgbm_3class", "sklearn_logistic_3class", "lightgbm_poisson")
]
OURS = {Reason.INTERNAL, Reason.WORKER_DIED}
OF_A_FIELD = {Reason.INVALID_OPTION, Reason.INVALID_REQUEST, Reason.UNKNOWN_FEATURE}

thorough = settings(
    max_examples=COUNT,
    derandomize="TEST_REQUESTS" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("method", METHODS)
@thorough
@given(data=st.data())
def test_any_request_is_answered_or_refused_by_a_field(isolated, calls, method: str, data) -> None:
    request = data.draw(requests(method))
    request.model.content = data.draw(st.sampled_from(MODELS))
    try:
        reply = isolated.answer(
            Call(ServiceMethod.EXPLAIN, request.SerializeToString()), calls(SECONDS)
        ).content
    except ExplainError as refused:
        event(refused.reason.name)
        check(refused)
        return
    event("answered")
    answer = ExplainResponse.FromString(reply)
    again = canonical.decode(canonical.encode(answer).encode(), ExplainResponse)
    assert again.SerializeToString(deterministic=True) == answer.SerializeToString(
        deterministic=True
    )


def check(error: ExplainError) -> None:
    assert error.reason not in OURS, error.message
    assert error.field or error.reason not in OF_A_FIELD, error.message
    assert exists(error.field), error.field
    assert error.message.isprintable()


def exists(path: str) -> bool:
    """Check that the contract has this field of requests."""
    kind: Any = ExplainRequest.DESCRIPTOR
    for name in re.findall(r"[a-z_0-9]+", re.sub(r"\[\d+\]", "", path)):
        if kind is None or name not in kind.fields_by_name:
            return False
        kind = kind.fields_by_name[name].message_type
    return True
