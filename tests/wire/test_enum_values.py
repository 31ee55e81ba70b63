"""Each value of each enumeration of each method is computed, or refused in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import ParseDict
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain_server.adapters.programs.warm_up import NullHost, models, requests
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

METHODS: Any = MethodOptions.DESCRIPTOR.oneofs_by_name["method"].fields


Options = dict[str, Any]


def choices(message: Any) -> Iterator[tuple[str, list[tuple[str, Options]]]]:
    """Each enumeration of options, with the options that have its values; also within messages."""
    for field in message.fields:
        if field.enum_type is not None:
            names = [value.name for value in field.enum_type.values[1:]]
            yield field.name, [(name, {field.name: listed(field, name)}) for name in names]
        elif field.message_type is not None:
            for path, inner in choices(field.message_type):
                each = [(name, {field.name: listed(field, options)}) for name, options in inner]
                yield f"{field.name}.{path}", each


def listed(field: FieldDescriptor, value: Any) -> Any:
    return [value] if field.is_repeated else value


ASKED = [
    pytest.param(method.name, path, each, id=f"{method.name}.{path}")
    for method in METHODS
    for path, each in choices(method.message_type)
]

MORE: dict[str, Options] = {
    "feature_vectors": {"sentenceCount": 100, "repeatCount": 0},
    "swarm": {"pointCount": 10, "iterationCount": 2},
    "interactions.resampling": {"repeatCount": 5},
    "firm.covariance": {"estimator": "GAUSSIAN", "features": ["a", "b"]},
    "swarm.start": {"loss": "SQUARED_ERROR", "search": "PUBLISHED"},
}
"""What keeps a method small; and under which other options one is read."""
LINEAR = {"firm.covariance"}
"""Options of methods that take no trees."""


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    made = InProcess(1)
    yield made
    made.close()


@pytest.mark.parametrize(("method", "path", "each"), ASKED)
def test_each_value_is_refused_or_has_an_answer_of_its_own(
    runner: InProcess, method: str, path: str, each: list[tuple[str, Options]]
) -> None:
    """A value that the server takes for another one would have the other's answer."""
    answers: dict[bytes, str] = {}
    alike: set[frozenset[str]] = set()
    for name, options in each:
        request = ExplainRequest.FromString(next(requests()))
        if f"{method}.{path}" in LINEAR:
            request.model.content = models()[-1].SerializeToString()
        request.ClearField("methods")
        more = {**MORE.get(method, {}), **MORE.get(f"{method}.{path}", {})}
        asked = {method: {**more, **options}}
        request.methods.append(ParseDict(asked, MethodOptions()))
        with suppress(ExplainError):  # refused in words
            content = runner.answer(
                Call(ServiceMethod.EXPLAIN, request.SerializeToString()), NullHost()
            ).content
            (explanation,) = ExplainResponse.FromString(content).explanations
            result = getattr(explanation, method).SerializeToString(deterministic=True)
            other = answers.setdefault(result, name)
            if other != name:
                alike.add(frozenset({other, name}))

    assert alike == set()
