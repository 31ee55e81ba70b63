"""Replays of past faults: each stays mended. README.md says what the files beside this one mean."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from grpc_status import rpc_status
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain_server.wire import canonical

HERE = Path(__file__).parent
MODELS = HERE.parent / "models"
REPLAYS = sorted(path.stem for path in HERE.glob("*.json"))
SLOW = {"a-forest-of-two-rows-has-no-pairs"}
"""Replays that start the workers that have scikit-learn."""
SERVICE = service_pb2.DESCRIPTOR.services_by_name["ExplanationService"]

SECONDS = 300
"""Longer than any answer takes on a busy machine."""


@dataclass(frozen=True)
class Told:
    """How a request ended."""

    reason: str
    field: str
    text: str


def body(name: str, replay: dict[str, Any]) -> bytes | dict[str, Any]:
    """What is sent: JSON, or bytes as they are."""
    if "body" not in replay:
        raw, packed = HERE / f"{name}.body", HERE / f"{name}.body.gz"
        return raw.read_bytes() if raw.exists() else gzip.decompress(packed.read_bytes())
    document: dict[str, Any] = replay["body"]
    if "model" in replay:
        content = (MODELS / replay["model"]).read_bytes()
        document["model"] = {"content": base64.b64encode(content).decode()}
    return document


def over_rest(port: int, route: str, headers: dict[str, str], sent: bytes) -> Told:
    method, path = route.split(" ", 1)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    connection.request(method, path, sent, {"Content-Type": "application/json"} | headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    if answer.status == 200:
        return Told("OK", "", text)
    problem = json.loads(text)
    return Told(problem["reason"], next((e["field"] for e in problem["errors"]), ""), text)


def over_grpc(port: int, method: str, sent: bytes | dict[str, Any]) -> Told:
    called = SERVICE.methods_by_name[method]
    if isinstance(sent, dict):
        request: Message = getattr(service_pb2, called.input_type.name)()
        sent = ParseDict(sent, request).SerializeToString()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            reply = channel.unary_unary(f"/{SERVICE.full_name}/{method}")(sent, timeout=SECONDS)
        except grpc.RpcError as error:
            return refused(error)
    answer: Message = getattr(service_pb2, called.output_type.name).FromString(reply)
    return Told("OK", "", canonical.encode(answer))


def refused(error) -> Told:
    status = rpc_status.from_call(error)
    assert status is not None, error
    info, fault = ErrorInfo(), BadRequest()
    for detail in status.details:
        detail.Unpack(info)
        detail.Unpack(fault)
    fields = [violation.field for violation in fault.field_violations]
    return Told(info.reason, next(iter(fields), ""), status.message)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in REPLAYS],
)
def test_every_past_fault_stays_mended(server, name: str) -> None:
    replay = json.loads((HERE / f"{name}.json").read_text())
    sent, expected = body(name, replay), replay["expected"]

    if replay["route"].startswith("gRPC "):
        told = over_grpc(server.grpc_port, replay["route"].removeprefix("gRPC "), sent)
    else:
        raw = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
        told = over_rest(server.rest_port, replay["route"], replay.get("headers", {}), raw)

    assert told.reason == expected["reason"], told.text
    assert told.field == expected.get("field", told.field)
    assert all(words in told.text for words in expected.get("words", ())), told.text
    without = expected.get("without", ())
    assert not [words for words in without if words in told.text + "".join(server.log)]
    assert server.process.poll() is None


def test_every_replay_tells_its_fault_and_has_what_it_sends() -> None:
    known = {"fault", "route", "headers", "model", "body", "expected"}
    for name in REPLAYS:
        replay = json.loads((HERE / f"{name}.json").read_text())
        assert replay["fault"].endswith("."), name
        assert replay.keys() <= known, name
        body(name, replay)  # fails where a file is missing
    sent = {path.name.partition(".")[0] for path in HERE.glob("*.body*")}
    assert sent <= set(REPLAYS)
