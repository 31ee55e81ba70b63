"""Parts of a request to a runner: the model's file, and the key of equal requests."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs
from onnxplain_server.wire import question
from onnxplain_server.wire.blobs import identify


@dataclass(frozen=True, slots=True)
class ModelFile:
    """Content of a model file, and the id that uploading it gives."""

    content: bytes
    identity: str


def model_file(message: service_pb2.ExplainRequest, blobs: Blobs) -> ModelFile | None:
    """Return the request's model; None where it has none."""
    if not message.HasField("model"):
        return None
    content = question.model_content(message.model, blobs)
    return ModelFile(content, message.model.id or identify(content))


def request_key(request: bytes, message: service_pb2.ExplainRequest, blobs: Blobs) -> str:
    """Digest a request that names its table by digest; empty for one that holds its table."""
    blob = blobs.get(message.table.id)
    return "" if blob is None else f"{blob.form}:{hashlib.sha256(request).hexdigest()}"


def refuse_inconsistent(message: service_pb2.ExplainRequest, inconsistency: str) -> None:
    """Raise INCONSISTENT_MODEL, unless the request allows such a model."""
    if not message.allow_inconsistent_model:
        raise ExplainError(
            Reason.INCONSISTENT_MODEL,
            f"{inconsistency} Fix the model, or set allow_inconsistent_model to explain it anyway.",
            "model",
        )
