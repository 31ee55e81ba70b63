"""Equal answers from workers and from the same code in this process."""

from __future__ import annotations

import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain_server.adapters.workers.sandbox import warm_up


def title(request: bytes) -> str:
    return str(ExplainRequest.FromString(request).methods[0].WhichOneof("method"))


def asked() -> list[bytes]:
    """Each method, and each model by some method: to a process they are all bytes."""
    known = tuple(warm_up.requests())
    by_method = {title(request): request for request in known}
    return [*dict.fromkeys([*by_method.values(), *known[::3]])]


REQUESTS = asked()


@pytest.mark.parametrize("request_", REQUESTS, ids=title)
def test_every_method_is_answered_as_without_isolation(
    isolated, reference, request_: bytes
) -> None:
    actual, expected = (
        ExplainResponse.FromString(runner.explain(request_, {}, warm_up.NullHost()).content)
        for runner in (isolated, reference.runner)
    )
    for answer in (actual, expected):
        answer.receipt.ClearField("elapsed")
    assert reference.same(actual, expected)
