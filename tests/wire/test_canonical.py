"""What the server writes as JSON, it reads again."""

from datetime import timedelta

from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain_server.wire import canonical


def test_a_response_survives_being_written_and_read() -> None:
    response = service_pb2.ExplainResponse(
        receipt=service_pb2.Receipt(
            library_versions={"numpy": "2.4.6"}, elapsed=timedelta(seconds=1.5), seed=3
        ),
        warnings=[service_pb2.Warning(code="ROWS_DRAWN", message="some")],
    )
    curve = response.explanations.add().partial_dependence.curves.add(values=[1, float("nan")])
    curve.grid.add(name="age", numbers=[0.5])

    read = canonical.decode(canonical.encode(response).encode(), service_pb2.ExplainResponse)

    assert read.SerializeToString(deterministic=True) == response.SerializeToString(
        deterministic=True
    )
