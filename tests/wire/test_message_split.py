"""Requests of this process: split without a copy of their model, as those that are serialised."""

from __future__ import annotations

import pytest
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest, ExplainRequest
from onnxplain.v1.model_pb2 import Model, ModelFile
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.core.request import RequestParts, ServiceMethod
from onnxplain_server.wire.protobuf_split import split
from onnxplain_server.wire.requests import message_split

TABLE = Table(csv=b"a\n1\n")


def told(parts: RequestParts) -> tuple[object, ...]:
    files = (parts.model, parts.table)
    return parts.envelope, [file and (file.form, file.content, file.identity) for file in files]


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        (ServiceMethod.EXPLAIN, ExplainRequest(model=Model(content=b"m"), table=TABLE, seed=3)),
        (ServiceMethod.EXPLAIN, ExplainRequest(table=TABLE, feature_columns=["a", "b"])),
        (ServiceMethod.EXPLAIN, ExplainRequest(model=Model(id="sha256:0"), table=TABLE)),
        (ServiceMethod.DESCRIBE, DescribeModelRequest(model=Model(content=b"m"))),
        (
            ServiceMethod.EXPLAIN,
            ExplainRequest(model=Model(content=b"m", files=[ModelFile(name="d", content=b"v")])),
        ),
    ],
)
def test_a_large_model_is_split_off_as_a_small_one(
    method: ServiceMethod, request_: ExplainRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = told(split(request_.SerializeToString(), method))
    monkeypatch.setattr(message_split, "_LARGE_MODEL", 0)

    assert told(message_split.split_message(request_, method)) == expected
