"""The Python client as a runner; see README.md."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import onnxplain
from google.protobuf import json_format
from google.protobuf.message import Message
from onnxplain.results.canonical_json import to_json
from onnxplain.table_files import from_bytes
from onnxplain.tables import to_table
from onnxplain.transport.rpcs import CHECK, COMPARE, DESCRIBE, DESCRIBE_TABLE, PREDICT
from onnxplain.v1.explanation_service_pb2 import (
    CheckModelRequest,
    CompareExplanationsRequest,
    DescribeModelRequest,
    DescribeTableRequest,
    ExplainRequest,
    PredictRequest,
)
from onnxplain.v1.model_pb2 import Model, ModelFile

_Asked = TypeVar("_Asked", ExplainRequest, DescribeTableRequest, PredictRequest, CheckModelRequest)


def answer(client: onnxplain.Client, root: Path, case: Mapping[str, Any]) -> dict[str, Any]:
    """Ask one case."""
    try:
        return _CALLS[case["call"]](client, root, case)
    except onnxplain.ExplainError as error:
        told = {name: getattr(error, name) for name in ("reason", "message", "field", "code")}
        return {"error": told}


def _explain(client: onnxplain.Client, root: Path, case: Mapping[str, Any]) -> dict[str, Any]:
    timeout = case.get("timeout_seconds")
    return _response(client.messages.explain(_request(root, case), timeout=timeout))


def _stream(client: onnxplain.Client, root: Path, case: Mapping[str, Any]) -> dict[str, Any]:
    progress: list[list[float]] = []
    found: dict[str, Any] = {}
    for event in client.messages.explain_stream(_request(root, case)):
        if event.WhichOneof("event") == "progress":
            progress.append([event.progress.done, event.progress.planned])
        else:
            found = _response(event.response)
    return {**found, "progress": progress}


def _describe(client: onnxplain.Client, root: Path, case: Mapping[str, Any]) -> dict[str, Any]:
    request = DescribeModelRequest(model=_model(root, case))
    return _response(client.messages.answer(DESCRIBE, request))


def _describe_table(
    client: onnxplain.Client, root: Path, case: Mapping[str, Any]
) -> dict[str, Any]:
    request = _with_files(root, case, DescribeTableRequest())
    return _response(client.messages.answer(DESCRIBE_TABLE, request))


def _predict(client: onnxplain.Client, root: Path, case: Mapping[str, Any]) -> dict[str, Any]:
    return _response(client.messages.answer(PREDICT, _with_files(root, case, PredictRequest())))


def _check(client: onnxplain.Client, root: Path, case: Mapping[str, Any]) -> dict[str, Any]:
    return _response(client.messages.answer(CHECK, _with_files(root, case, CheckModelRequest())))


def _compare(client: onnxplain.Client, _root: Path, case: Mapping[str, Any]) -> dict[str, Any]:
    request = json_format.ParseDict(case["request"], CompareExplanationsRequest())
    return _response(client.messages.answer(COMPARE, request))


def _upload(client: onnxplain.Client, root: Path, case: Mapping[str, Any]) -> dict[str, Any]:
    model = client.upload_model(root / case["model"])
    table = client.upload_table(root / case["table"])
    request = json_format.ParseDict(case["request"], ExplainRequest())
    request.model.id = model.id
    request.table.id = table.id
    ids = {"model": model.id, "table": table.id}
    return {**_response(client.messages.explain(request)), "ids": ids}


def _cancel(client: onnxplain.Client, root: Path, case: Mapping[str, Any]) -> dict[str, Any]:
    """Leave by closing the client: what its calls then raise is what callers see."""
    timer = threading.Timer(case["cancel_after_seconds"], client.close)
    timer.start()
    return _explain(client, root, case)


_CALLS = {
    "explain": _explain,
    "stream": _stream,
    "describe": _describe,
    "describe_table": _describe_table,
    "predict": _predict,
    "check": _check,
    "compare": _compare,
    "upload": _upload,
    "cancel": _cancel,
}


def _request(root: Path, case: Mapping[str, Any]) -> ExplainRequest:
    return _with_files(root, case, ExplainRequest())


def _with_files(root: Path, case: Mapping[str, Any], empty: _Asked) -> _Asked:
    request = json_format.ParseDict(case["request"], empty)
    if "model" in case:
        request.model.CopyFrom(_model(root, case))
    if "table" in case:
        request.table.CopyFrom(from_bytes((root / case["table"]).read_bytes()))
    if "columns" in case:
        request.table.CopyFrom(to_table(case["columns"]))
    return request


def _model(root: Path, case: Mapping[str, Any]) -> Model:
    path = root / case["model"]
    files = [
        ModelFile(name=name, content=(path.parent / name).read_bytes())
        for name in case.get("model_files", ())
    ]
    return Model(content=path.read_bytes(), files=files)


def _response(message: Message) -> dict[str, Any]:
    return {"response": json.loads(to_json(message))}


def _connect() -> onnxplain.Client:
    return onnxplain.connect(os.environ["ONNXPLAIN_ENDPOINT"])


def main() -> None:
    """Ask all named cases."""
    root, out = map(Path, sys.argv[1:3])
    for name in sys.argv[3:]:
        case = json.loads((root / "conformance" / "cases" / f"{name}.json").read_text())
        with _connect() as client:
            found = answer(client, root, case)
        (out / f"{name}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
