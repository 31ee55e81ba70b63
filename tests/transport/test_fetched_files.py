"""Files that a request names by URI: one that is not the pinned one is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from onnxplain.v1.explanation_service_pb2 import Receipt, Source
from onnxplain.v1.model_pb2 import Model
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import RequestFile, RequestParts
from onnxplain_server.core.sources import NoModelCache
from onnxplain_server.transport.admission.admission import NO_LIMITS
from onnxplain_server.transport.admission.request_control import RequestControl
from onnxplain_server.transport.fetched_files import FetchedFiles, NoSources
from onnxplain_server.wire.blobs import identify

CONTENT = b"a model"
URI = "s3://models/model.onnx"


class Store(NoSources):
    read_model: Any = lambda *_arguments: RequestFile(
        "onnx", CONTENT, receipt=Receipt(sources=[Source(uri=URI)]).SerializeToString()
    )


def fetched(pin: str) -> RequestFile:
    files = FetchedFiles(Store(), NO_LIMITS, NoModelCache())
    message = Model(uri=URI, sha256=pin).SerializeToString()
    parts = files.with_model(
        RequestParts(b"", RequestFile("uri", message)), RequestControl(math.inf)
    )
    assert parts.model is not None
    return parts.model


@pytest.mark.parametrize("pin", ["", identify(CONTENT), identify(CONTENT)[7:].upper()])
def test_a_model_with_the_pinned_digest_is_taken(pin: str) -> None:
    assert fetched(pin).content == CONTENT


def test_a_model_with_another_digest_than_the_pinned_one_is_refused() -> None:
    with pytest.raises(ExplainError, match="has the digest") as refused:
        fetched("0" * 64)
    assert (refused.value.reason, refused.value.field) == (Reason.SOURCE_CHANGED, "model.sha256")
