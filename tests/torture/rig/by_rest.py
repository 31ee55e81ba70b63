"""Calls over REST, with one retry at another replica where the service says that it helps."""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from rig.operations import Look
from rig.outcome import Answered, Refused

_MORE_SECONDS = 10.0
"""A server ends a call at its deadline; a client that sees nothing waits so much longer."""

_TYPES = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
}
_JSON = "application/json"
_EDGE = "edge-of-a-part"
_AGAIN = {"WORKER_DIED", "OVERLOADED", "UNAVAILABLE"}


class Rest:
    """A caller over REST.

    Parameters
    ----------
    ports : list of int
        Of all replicas.
    generator : random.Random
    """

    surfaces = ("rest-json", "rest-multipart", "rest-events", "rest-uploads")

    def __init__(self, ports: list[int], generator: random.Random) -> None:
        self._ports = list(ports)
        self._generator = generator

    def explain(self, surface: str, request: ExplainRequest, seconds: float) -> Answered:
        """Ask; raises Refused."""
        if surface == "rest-uploads" and request.table.WhichOneof("source") != "columns":
            return self._twice(lambda port: _by_name(port, request, seconds))
        if surface == "rest-multipart" and request.table.WhichOneof("source") != "columns":
            body, kind = _form(request)
        else:
            body, kind = json.dumps(MessageToDict(request)).encode(), _JSON
        path = "/v1/explanations"
        if surface == "rest-events":
            return self._twice(lambda port: _events(port, path, body, kind, seconds))
        return self._twice(lambda port: _ask(port, "POST", path, body, kind, seconds))

    def describe(self, model: bytes, seconds: float) -> Answered:
        """Ask what a model takes and gives: by its bytes, or by its id."""
        kind = "application/octet-stream"

        def by_id(port: int):
            found = _ask(port, "PUT", "/v1/models", model, kind, seconds)
            return _ask(port, "GET", f"/v1/models/{found['id']}", b"", kind, seconds)

        def by_bytes(port: int):
            return _ask(port, "POST", "/v1/models:describe", model, kind, seconds)

        return self._twice(self._generator.choice([by_id, by_bytes]))

    def leave(self, request: ExplainRequest, seconds: float) -> None:
        """Ask, and go away in the middle of it."""
        body = json.dumps(MessageToDict(request)).encode()
        port = self._generator.choice(self._ports)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
        try:
            connection.request("POST", "/v1/explanations", body, {"Content-Type": _JSON})
            time.sleep(self._generator.uniform(0.0, 1.0))
        except OSError as error:
            raise _broken(error) from None
        finally:
            connection.close()

    def start(self, request: ExplainRequest, request_id: str, seconds: float) -> str:
        """Start an operation; see `OperationCaller`."""
        body = json.dumps(MessageToDict(request)).encode()
        path = f"/v1/explanations:start?request_id={request_id}"
        return str(_ask(self._any(), "POST", path, body, _JSON, seconds)["name"])

    def look(self, name: str, wait: float, seconds: float) -> Look:
        """Look at an operation."""
        path = f"/v1/{name}?wait={wait:g}s"
        found = _ask(self._any(), "GET", path, b"", _JSON, seconds)
        metadata, error = found["metadata"], found.get("error")
        refused = Refused(error["details"][0]["reason"], error["message"], True) if error else None
        end = metadata["endTime"] if found["done"] else ""
        return Look(metadata["state"], end, metadata["attemptCount"], refused)

    def read(self, name: str, seconds: float) -> dict[str, Any]:
        """Read the answer of an operation."""
        found: dict[str, Any] = _ask(self._any(), "GET", f"/v1/{name}/result", b"", _JSON, seconds)
        return found

    def delete(self, name: str, seconds: float) -> None:
        """Delete an operation."""
        _ask(self._any(), "DELETE", f"/v1/{name}", b"", _JSON, seconds)

    def _any(self) -> int:
        return self._generator.choice(self._ports)

    def close(self) -> None:
        """Nothing is held."""

    def _twice(self, call: Callable[[int], Any]) -> Answered:
        """Call one replica, and another one where that may help."""
        first, second = self._generator.sample(self._ports, 2)
        try:
            return Answered(call(first), 1)
        except Refused as refused:
            if refused.from_server and refused.reason not in _AGAIN:
                raise
            time.sleep(refused.retry_seconds or 0.1)
        return Answered(call(second), 2)


def _by_name(port: int, request: ExplainRequest, seconds: float):
    """Upload and ask by id; once more where the files are gone meanwhile."""
    try:
        return _by_name_once(port, request, seconds)
    except Refused as refused:
        if refused.reason != "BLOB_NOT_FOUND":
            raise
    return _by_name_once(port, request, seconds)


def _by_name_once(port: int, request: ExplainRequest, seconds: float):
    form = str(request.table.WhichOneof("source"))
    octets = "application/octet-stream"
    model = _ask(port, "PUT", "/v1/models", request.model.content, octets, seconds)
    content = getattr(request.table, form)
    table = _ask(port, "PUT", "/v1/tables", content, _TYPES[form], seconds)
    named = MessageToDict(request) | {"model": model, "table": table}
    body = json.dumps(named).encode()
    return _ask(port, "POST", "/v1/explanations", body, _JSON, seconds)


def _ask(port: int, method: str, path: str, body: bytes, kind: str, seconds: float):
    status, text = _send(port, method, path, body, kind, seconds, {})
    return _document(status, text)


def _events(port: int, path: str, body: bytes, kind: str, seconds: float):
    wanted = {"Accept": "text/event-stream"}
    status, text = _send(port, "POST", path, body, kind, seconds, wanted)
    if status != http.HTTPStatus.OK:
        return _document(status, text)
    events = [event for event in text.decode().split("\n\n") if event]
    if not events or not text.endswith(b"\n\n"):
        raise Refused("CUT_OFF", "the events ended in the middle", from_server=False)
    name, _, data = events[-1].partition("\ndata: ")
    if name == "event: error":
        raise _refusal(json.loads(data))
    if name != "event: response":
        raise Refused("CUT_OFF", "the events ended without an answer", from_server=False)
    return json.loads(data)


def _send(
    port: int,
    method: str,
    path: str,
    body: bytes,
    kind: str,
    seconds: float,
    headers: Mapping[str, str],
) -> tuple[int, bytes]:
    told = {"Content-Type": kind, "X-Request-Timeout-Ms": str(int(1000 * seconds)), **headers}
    timeout = seconds + _MORE_SECONDS
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body, told)
        reply = connection.getresponse()
        return reply.status, reply.read()
    except (OSError, http.client.HTTPException) as error:
        raise _broken(error) from None
    finally:
        connection.close()


def _document(status: int, text: bytes):
    try:
        found = json.loads(text)
    except ValueError:
        # Waitress answers what is no HTTP, which only a harmed connection sends, in plain text.
        raise Refused(f"HTTP_{status}", text[:300].decode("latin-1"), from_server=False) from None
    if status in {http.HTTPStatus.OK, http.HTTPStatus.ACCEPTED}:
        return found
    raise _refusal(found)


def _refusal(problem: Mapping[str, Any]) -> Refused:
    later = 1.0 if problem["reason"] in _AGAIN else None
    return Refused(problem["reason"], problem["detail"], from_server=True, retry_seconds=later)


def _broken(error: Exception) -> Refused:
    return Refused(type(error).__name__, str(error), from_server=False)


def _form(request: ExplainRequest) -> tuple[bytes, str]:
    """Write a request as files."""
    form = str(request.table.WhichOneof("source"))
    rest = ExplainRequest()
    rest.CopyFrom(request)
    rest.ClearField("model")
    rest.ClearField("table")
    parts = {
        # Any other name would come back as that of the model, unlike by other surfaces.
        'name="model"; filename="model"': request.model.content,
        f'name="table"; filename="rows.{form}"': getattr(request.table, form),
        'name="request"': json.dumps(MessageToDict(rest)).encode(),
    }
    head = f"--{_EDGE}\r\nContent-Disposition: form-data; "
    body = b"".join(
        f"{head}{name}\r\n\r\n".encode() + part + b"\r\n" for name, part in parts.items()
    )
    return body + f"--{_EDGE}--\r\n".encode(), f"multipart/form-data; boundary={_EDGE}"
