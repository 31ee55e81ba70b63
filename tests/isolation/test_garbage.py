"""Truncated models and bytes that are no model: refused, and nothing worse."""

from __future__ import annotations

import os

from hostile import mutate
from hypothesis import given, settings
from hypothesis import strategies as st
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest, DescribeModelResponse
from onnxplain.v1.model_pb2 import Model
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.status import STATUS

COUNT = int(os.environ.get("TEST_GARBAGE", "500"))
SEEDS = [content for content in mutate.seeds() if len(content) < 20_000]


@st.composite
def beginnings(draw: st.DrawFn) -> bytes:
    content = draw(st.sampled_from(SEEDS))
    return content[: draw(st.integers(0, len(content) - 1))]


@settings(max_examples=COUNT)
@given(st.binary(max_size=2_000) | beginnings())
def test_bytes_that_are_no_model_are_an_invalid_argument(isolated, calls, content: bytes) -> None:
    """Some beginnings are models: what is missing was not needed. Their description is right."""
    serialised = DescribeModelRequest(model=Model(content=content)).SerializeToString()
    try:
        answer = DescribeModelResponse.FromString(
            isolated.answer(Call(ServiceMethod.DESCRIBE, serialised), calls()).content
        )
    except ExplainError as error:
        refused = error
    else:
        assert any(whole.startswith(content) for whole in SEEDS)
        assert answer.model.output_names
        return

    assert STATUS[refused.reason].grpc.name == "INVALID_ARGUMENT"
    assert refused.message.isprintable()
    assert isolated.ready
