"""Each value of each enumeration of each method is computed, or refused in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.workers.sandbox.warm_up import NullHost, requests
from onnxplain_server.core.errors import ExplainError

METHODS = MethodOptions.DESCRIPTOR.oneofs_by_name["method"].fields


def values(message: Descriptor) -> Iterator[dict[str, Any]]:
    """Options with each value of each enumeration, also in messages within."""
    for field in message.fields:
        if field.enum_type is not None:
            for value in field.enum_type.values[1:]:
                yield {field.name: listed(field, value.name)}
        elif field.message_type is not None:
            for inner in values(field.message_type):
                yield {field.name: listed(field, inner)}


def listed(field: FieldDescriptor, value: Any) -> Any:
    return [value] if field.is_repeated else value


ASKED = [
    pytest.param({method.name: options}, id=f"{method.name}-{options}")
    for method in METHODS
    for options in values(method.message_type)
]


MORE = {
    "feature_vectors": {"sentenceCount": 100, "repeatCount": 0},
    "swarm": {"pointCount": 10, "iterationCount": 1},
}
"""What keeps a method small."""


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    made = InProcess(1)
    yield made
    made.close()


@pytest.mark.parametrize("method", ASKED)
def test_a_value_is_computed_or_refused(runner: InProcess, method: dict[str, Any]) -> None:
    request = ExplainRequest.FromString(next(requests()))
    ((name, options),) = method.items()
    request.ClearField("methods")
    request.methods.append(ParseDict({name: {**MORE.get(name, {}), **options}}, MethodOptions()))

    with suppress(ExplainError):  # refused in words
        content = runner.explain(request.SerializeToString(), {}, NullHost()).content
        (explanation,) = ExplainResponse.FromString(content).explanations
        assert explanation.WhichOneof("result") == name
