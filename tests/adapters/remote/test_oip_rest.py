"""Open Inference Protocol over REST: what is sent and what is understood, byte by byte."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import UNTOLD

from tools.stores.faulty_server import Request, of_bytes

METADATA = {
    "name": "m",
    "versions": ["3"],
    "platform": "sklearn",
    "inputs": [{"name": "x", "datatype": "FP64", "shape": [-1, 2]}],
    "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 2]}],
}
ROWS = np.array([[1.5, -2.0], [0.25, np.nan], [3.0, 4.0]])
PATH = "/v2/models/m"


@pytest.fixture
def answers(models: Any) -> Any:
    models.answers[f"GET {PATH}"] = METADATA
    models.answers["GET /v2"] = {"name": "test", "extensions": []}
    return models.answers


def output(data: Any, shape: list[int], datatype: str = "FP64", name: str = "y") -> dict[str, Any]:
    return {"outputs": [{"name": name, "datatype": datatype, "shape": shape, "data": data}]}


def refusal(call: Any) -> ExplainError:
    with pytest.raises(ExplainError) as raised:
        call()
    return raised.value


def test_the_model_is_described_by_its_metadata(answers: Any, open_model: Any) -> None:
    description = open_model().describe()

    assert description.inputs == (Input("x", "double", 2),)
    assert description.output_names == ("0", "1")
    assert (description.version, description.platform) == ("3", "sklearn")


def test_rows_travel_as_json_in_row_major_order(answers: Any, models: Any, open_model: Any) -> None:
    answers[f"POST {PATH}/infer"] = output([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [3, 2], "FP32")

    predictions = open_model().predict({"x": ROWS})

    assert predictions.dtype == np.float32
    assert (
        predictions.tolist() == np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], np.float32).tolist()
    )
    sent = json.loads(models.requests[-1].body)
    assert sent["inputs"] == [
        {"name": "x", "datatype": "FP64", "shape": [3, 2], "data": [1.5, -2, 0.25, None, 3, 4]}
    ]


def test_a_server_that_takes_bytes_gets_and_gives_bytes(
    answers: Any, models: Any, open_model: Any
) -> None:
    answers["GET /v2"] = {"extensions": ["binary_tensor_data"]}

    def infer(request: Request) -> Any:
        length = int(request.headers["Inference-Header-Content-Length"])
        head, content = json.loads(request.body[:length]), request.body[length:]
        assert head["inputs"][0]["parameters"] == {"binary_data_size": len(content)}
        assert head["parameters"] == {"binary_data_output": True}
        np.testing.assert_array_equal(np.frombuffer(content, "<f8").reshape(3, 2), ROWS)
        outputs = [
            {
                "name": "y",
                "datatype": "FP64",
                "shape": [3, 1],
                "parameters": {"binary_data_size": 24},
            }
        ]
        answer = json.dumps({"outputs": outputs}).encode()
        headers = {"Inference-Header-Content-Length": str(len(answer))}
        return of_bytes(200, headers, answer + struct.pack("<3d", 1.0, float("inf"), -1.0))

    answers[f"POST {PATH}/infer"] = infer

    assert open_model().predict({"x": ROWS}).tolist() == [[1.0], [np.inf], [-1.0]]


def test_columns_by_name_are_one_tensor_each(answers: Any, models: Any, open_model: Any) -> None:
    inputs = [
        {"name": "age", "datatype": "INT64", "shape": [-1, 1]},
        {"name": "city", "datatype": "BYTES", "shape": [-1]},
    ]
    answers[f"GET {PATH}"] = METADATA | {"inputs": inputs, "outputs": []}
    answers[f"POST {PATH}/infer"] = output([1, 2], [2], "INT64")
    model = open_model()

    feeds = {"age": np.array([[4], [5]]), "city": np.array([["Ulm"], ["Köln"]], dtype=object)}

    assert model.describe().inputs == (Input("age", "int64", 1), Input("city", "string", 1))
    assert model.predict(feeds).tolist() == [[1.0], [2.0]]
    assert json.loads(models.requests[-1].body)["inputs"] == [
        {"name": "age", "datatype": "INT64", "shape": [2, 1], "data": [4, 5]},
        {"name": "city", "datatype": "BYTES", "shape": [2], "data": ["Ulm", "Köln"]},
    ]


def test_one_matrix_is_sent_where_nothing_tells_inputs(
    models: Any, answers: Any, open_model: Any
) -> None:
    answers[f"GET {PATH}"] = METADATA | {"inputs": [], "outputs": []}
    answers[f"POST {PATH}/infer"] = output([1.0], [1, 1])
    model = open_model()

    assert model.describe().inputs == (UNTOLD,)
    model.predict({UNTOLD.name: ROWS[:1]})
    (sent,) = json.loads(models.requests[-1].body)["inputs"]
    assert (sent["datatype"], sent["shape"]) == ("FP64", [1, 2])


def test_stated_inputs_are_sent_where_metadata_have_none(
    answers: Any, models: Any, open_model: Any
) -> None:
    answers[f"GET {PATH}"] = METADATA | {"inputs": [], "outputs": []}
    answers[f"POST {PATH}/infer"] = output([1.0], [1, 1])

    stated = (Input("x", "float", None, ("a", "b")),)
    assert open_model(inputs=stated).predict({"x": ROWS[:1].astype(np.float32)}).shape == (1, 1)
    assert json.loads(models.requests[-1].body)["inputs"][0]["datatype"] == "FP32"


def test_an_output_is_asked_for_by_its_name(answers: Any, models: Any, open_model: Any) -> None:
    outputs = [
        {"name": "label", "datatype": "INT64", "shape": [-1]},
        {"name": "probabilities", "datatype": "FP64", "shape": [-1, 2]},
    ]
    answers[f"GET {PATH}"] = METADATA | {"outputs": outputs}
    answers[f"POST {PATH}/infer"] = output([0.25, 0.75], [1, 2], name="probabilities")

    unclear = refusal(open_model().describe)
    predictions = open_model(output="probabilities").predict({"x": ROWS[:1]})

    assert unclear.field == "model.remote.output"
    assert '"label", "probabilities"' in unclear.message
    assert predictions.tolist() == [[0.25, 0.75]]
    assert json.loads(models.requests[-1].body)["outputs"] == [{"name": "probabilities"}]


@pytest.mark.parametrize(
    ("data", "number"),
    [("[NaN]", np.nan), ("[Infinity]", np.inf), ("[null]", np.nan), ('["-Infinity"]', -np.inf)],
)
def test_numbers_that_json_lacks_are_understood_as_servers_write_them(
    answers: Any, open_model: Any, data: str, number: float
) -> None:
    text = json.dumps(output("?", [1])).replace('"?"', data)
    answers[f"POST {PATH}/infer"] = text.encode()

    np.testing.assert_array_equal(open_model().predict({"x": ROWS[:1]}), [[number]])


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (output([1.0, 2.0], [2]), "2 rows when 3"),
        (output([1.0, 2.0, 3.0], [3, 2]), "does not have its shape"),
        (output([1.0] * 12, [3, 2, 2]), "the shape"),
        (output([[1.0], [2.0, 3.0], [4.0]], [3]), "unequal"),
        (output(["a", "b", "a"], [3], "BYTES"), "predict_proba"),
        (output(["a", "b", "a"], [3], "FP64"), "labels"),
        (output([1.0], [3], "COMPLEX"), "COMPLEX"),
        ({"outputs": "none"}, "list of outputs"),
        ({"outputs": []}, "without outputs"),
        (b"[1, 2]", "no object"),
        (b'{"outputs": [', "no JSON"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_an_answer_that_is_no_prediction_is_refused(
    answers: Any, open_model: Any, answer: Any, part: str
) -> None:
    answers[f"POST {PATH}/infer"] = answer

    error = refusal(lambda: open_model().predict({"x": ROWS}))

    assert error.reason is Reason.REMOTE_MODEL_ANSWER
    assert part in error.message


def test_prediction_columns_may_not_change_between_calls(answers: Any, open_model: Any) -> None:
    answers[f"POST {PATH}/infer"] = output([1.0], [1])
    model = open_model()
    model.predict({"x": ROWS[:1]})
    answers[f"POST {PATH}/infer"] = output([1.0, 2.0], [1, 2])

    error = refusal(lambda: model.predict({"x": ROWS[:1]}))

    assert error.reason is Reason.REMOTE_MODEL_ANSWER
    assert "but 1 in an earlier" in error.message


def test_infinity_is_not_sent_as_a_missing_value(
    answers: Any, models: Any, open_model: Any
) -> None:
    error = refusal(lambda: open_model().predict({"x": np.array([[np.inf, 1.0]])}))

    assert error.reason is Reason.PREDICTION_FAILED
    assert all(request.method == "GET" for request in models.requests)


def test_name_and_version_are_parts_of_the_path(models: Any, open_model: Any) -> None:
    models.answers["GET /v2/models/a%2Fb/versions/1%3F"] = METADATA

    assert open_model(name="a/b", version="1?").describe().version == "1?"


@pytest.mark.parametrize("part", ["inputs", "outputs"])
def test_metadata_with_endless_columns_are_refused(
    answers: Any, open_model: Any, part: str
) -> None:
    endless = {"name": "z", "datatype": "FP64", "shape": [-1, 10**15]}
    answers[f"GET {PATH}"] = METADATA | {part: [endless]}

    error = refusal(open_model().describe)

    assert error.reason in {Reason.REMOTE_MODEL_ANSWER, Reason.INVALID_REQUEST}


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (output([1.0, 2.0, 3.0], [3, 10**15]), "does not have its shape"),
        ({"outputs": output([1.0], [1])["outputs"] * 2}, "two outputs of one name"),
    ],
)
def test_an_answer_that_contradicts_itself_is_refused(
    answers: Any, open_model: Any, answer: Any, part: str
) -> None:
    answers[f"POST {PATH}/infer"] = answer

    error = refusal(lambda: open_model().predict({"x": ROWS}))

    assert error.reason is Reason.REMOTE_MODEL_ANSWER
    assert part in error.message
