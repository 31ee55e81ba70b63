"""JSON that the server writes: it reads it again."""

import json
from datetime import timedelta

import pytest
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain_server.core.errors import ExplainError
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


@pytest.mark.parametrize(
    "spell", [str.upper, str.lower, lambda name: name.title().replace("_", "-")]
)
def test_names_of_choices_are_read_in_any_case(spell) -> None:
    document = {
        "engine": spell("BLACK_BOX"),
        "scale": spell("RESPONSE"),
        "methods": [
            {"permutation_importance": {"loss": spell("AUC")}},
            {"averageLoss": {"loss": spell("BALANCED_ACCURACY")}},
            {"partialDependence": {"strategy": spell("UNIFORM")}},
            {"swarm": {"perturbation": spell("GAUSSIAN"), "score": None}},
        ],
    }

    read = canonical.decode(json.dumps(document).encode(), service_pb2.ExplainRequest)

    plain = json.loads(canonical.encode(read))
    assert (plain["engine"], plain["scale"]) == ("BLACK_BOX", "RESPONSE")
    given = [next(iter(method.values())) for method in plain["methods"]]
    assert [given[0]["loss"], given[1]["loss"]] == ["AUC", "BALANCED_ACCURACY"]
    assert given[2]["strategy"] == "UNIFORM"
    assert given[3]["perturbation"] == "GAUSSIAN"


def test_another_name_is_refused_with_the_choices() -> None:
    with pytest.raises(ExplainError, match="must be one of RESPONSE, MARGIN"):
        canonical.decode(b'{"scale": "probability"}', service_pb2.ExplainRequest)
