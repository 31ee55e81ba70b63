"""Mutants of real models: the answer of the plain runtime, or a reason."""

from __future__ import annotations

import os
import re
from collections import Counter

from hostile import mutate
from onnxplain.v1.model_pb2 import ModelDescription
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

COUNT = int(os.environ.get("TEST_MUTANTS", "80"))
START = int(os.environ.get("TEST_MUTANTS_FROM", "0"))
LOAD_SECONDS = 5.0
PRIVATE = re.compile(r"/(home|tmp|usr|etc|root|proc|work)/|site-packages|Traceback|memfd")


def table_for(description: ModelDescription) -> bytes:
    """Three rows with the columns that a model says it takes; CSV."""
    names: list[str] = []
    for each in description.inputs:
        plain = each.name.isidentifier() and len(description.inputs) > 1
        names += [each.name] if plain else [f"x{j}" for j in range(min(each.width or 3, 60))]
    lines = [",".join(str((row + 2) * (j + 1) % 7) for j in range(len(names))) for row in range(3)]
    return "\n".join([",".join(names), *lines, ""]).encode()


def test_changed_models_are_refused_or_answered_right(own, reference) -> None:
    """They are of eight callers, so that few workers serve them all."""
    # None is quarantined, since their callers share few names.
    runner = own(spare_count=2, timeouts=own.timeouts(load=LOAD_SECONDS, quarantine=1e-6))
    outcomes: Counter[str] = Counter()
    for hostile in mutate.mutants(COUNT, START):
        actual = _outcome(own, runner, hostile.content)
        if isinstance(actual, ExplainError):
            outcomes[actual.reason.name] += 1
            assert not PRIVATE.search(actual.message), (hostile.name, actual.message)
            assert actual.reason is not Reason.INTERNAL, (hostile.name, actual.message)
        else:
            expected = _outcome(own, reference.runner, hostile.content, 600)
            if _is_unsteady(expected):
                outcomes["unsteady"] += 1
            else:
                outcomes["answers"] += 1
                assert own.same(actual, expected), hostile.name
    print(dict(outcomes))  # noqa: T201 - shown by `make torture`

    # Of two classes with weights for one in most leaves, onnxruntime sometimes reads no number.
    assert outcomes["unsteady"] <= max(2, COUNT / 10_000)
    assert runner.ready
    assert min(outcomes["answers"], outcomes["INVALID_MODEL"]) > COUNT / 100


def _is_unsteady(actual) -> bool:
    return isinstance(actual, ExplainError) and actual.reason is Reason.INCONSISTENT_MODEL


def _outcome(own, runner, content: bytes, seconds: float = 60):
    try:
        return _answer(own, runner, content, seconds)
    except ExplainError as error:
        return error


def _answer(own, runner, content: bytes, seconds: float):
    from onnxplain.v1.explanation_service_pb2 import (  # noqa: PLC0415 - only here
        DescribeModelRequest,
        DescribeModelResponse,
    )
    from onnxplain.v1.model_pb2 import Model  # noqa: PLC0415

    # Each model is described first: that alone loads it and tries rows.
    call = own.call(seconds, model_key=f"mutants {hash(content) % 8}")
    serialised = DescribeModelRequest(model=Model(content=content)).SerializeToString()
    described = DescribeModelResponse.FromString(
        runner.answer(Call(ServiceMethod.DESCRIBE, serialised), call).content
    )
    reply = runner.answer(
        Call(ServiceMethod.EXPLAIN, own.request(content, table_for(described.model))), call
    ).content
    answer = own.answer(reply)
    answer.receipt.ClearField("elapsed")
    return answer
