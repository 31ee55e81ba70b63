"""Splitter of requests that are messages of this process, whose model is copied once only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from onnxplain_server.core.request import URI_FORMS, RequestFile, RequestParts, ServiceMethod
from onnxplain_server.wire.protobuf_split import split
from onnxplain_server.wire.requests.partial_copy import copy_without

_LARGE_MODEL = 16 << 20


def has_large_model(request: Any) -> bool:
    """Return whether a request holds a model that is better not copied."""
    return (
        request.ByteSize() > _LARGE_MODEL
        and "model" in request.DESCRIPTOR.fields_by_name
        and [field.name for field, _ in request.model.ListFields()] == ["content"]
    )


def names_uris(request: Any) -> bool:
    """Return whether a request names its model or its table by URI."""
    files = [value for field, value in request.ListFields() if field.name in {"model", "table"}]
    return any(file.WhichOneof("source") in URI_FORMS for file in files)


def split_message(request: Any, method: ServiceMethod) -> RequestParts:
    """Split a request as `protobuf_split.split` splits it once it is serialised."""
    if not has_large_model(request):
        return split(request.SerializeToString(), method)
    without = copy_without(request, ("model",))
    parts = split(without.SerializeToString(), method)
    return replace(parts, model=RequestFile("onnx", request.model.content))
