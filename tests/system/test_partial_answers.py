"""Partial answers of a real server, over both surfaces, and in the caller's process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection

import onnxplain
import pytest

ROWS = 400


@pytest.fixture(params=["server", "local"])
def client(request, lasting_server) -> Iterator[onnxplain.Client]:
    """A client of a server, or of this process."""
    made = (
        onnxplain.local()
        if request.param == "local"
        else onnxplain.connect(lasting_server.endpoint)
    )
    with made:
        yield made


def stream(client, network, rows, **request):
    """Return the parts and the answer of a stream."""
    methods = (onnxplain.Interactions(features=["x0", "x1", "x2"]), onnxplain.PartialDependence())
    with closing(
        client.explain_stream(network, rows, *methods, row_count=ROWS, **request)
    ) as events:
        told = [event for event in events if not isinstance(event, onnxplain.Progress)]
    *parts, answer = told
    assert isinstance(answer, onnxplain.Explanations)
    return parts, answer


def test_a_stream_gives_parts_where_they_are_asked_for(client, network, rows) -> None:
    parts, answer = stream(client, network, rows, partial=True)
    none, plain = stream(client, network, rows)

    assert none == []
    assert [(part.index, part.is_final) for part in parts] == [(0, False), (0, True), (1, True)]
    few, whole, curves = parts
    assert few.explanations.message.explanations[0].rows.drawn_row_count == ROWS // 4
    total, full = few.explanations.interactions.total, answer.interactions.total
    assert total.lower[0] < total.values[0] < total.upper[0]
    assert total.values[0] == pytest.approx(full.values[0], rel=0.2)
    assert whole.explanations.message.explanations[0] == answer.message.explanations[0]
    assert curves.explanations.message.explanations[0] == answer.message.explanations[1]
    assert answer.message.explanations[1] == plain.message.explanations[1]


def test_only_streams_have_parts(client, network, rows) -> None:
    with pytest.raises(ValueError, match="explain_stream and start"):
        client.explain(network, rows, onnxplain.Interactions(), partial=True)


def test_rest_has_them_as_events_and_refuses_them_elsewhere(lasting_server, network, rows) -> None:
    with onnxplain.connect(lasting_server.endpoint) as client:
        ids = client.upload_model(network).id, client.upload_table(rows).id
    request = {
        "model": {"id": ids[0]},
        "table": {"id": ids[1]},
        "rowCount": ROWS,
        "partial": True,
        "methods": [{"interactions": {"features": ["x0", "x1", "x2"]}}],
    }

    events = _post(lasting_server, request, "text/event-stream").strip().split("\n\n")
    problem = json.loads(_post(lasting_server, request, "application/json"))

    named = [event.split("\ndata: ") for event in events]
    parts = [json.loads(data) for name, data in named if name == "event: partial"]
    assert [part.get("isFinal", False) for part in parts] == [False, True]
    assert parts[0]["explanation"]["rows"]["drawnRowCount"] == ROWS // 4
    assert named[-1][0] == "event: response"
    assert json.loads(named[-1][1])["explanations"] == [parts[1]["explanation"]]
    assert problem["reason"] == "INVALID_OPTION"
    assert problem["errors"][0]["field"] == "partial"


def _post(server, request: object, accept: str) -> str:
    connection = HTTPConnection("127.0.0.1", server.rest_port)
    head = {"Content-Type": "application/json", "Accept": accept}
    connection.request("POST", "/v1/explanations", json.dumps(request), head)
    with closing(connection):
        return connection.getresponse().read().decode()
