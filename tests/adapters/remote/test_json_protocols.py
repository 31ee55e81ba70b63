"""KServe's first protocol and MLflow's: what is sent, and the answers that are understood."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import UNTOLD

ROWS = np.array([[1.5, -2.0], [0.25, np.nan], [3.0, 4.0]])
MATRIX = (Input("x", "double", 2),)
NAMED = (Input("x", "double", 2, ("a", "b")),)
COLUMNS = (Input("age", "int64", 1), Input("city", "string", 1))
FEEDS = {"age": np.array([[4], [5]]), "city": np.array([["Ulm"], ["Köln"]], dtype=object)}
PATHS = {"KSERVE_V1": "/v1/models/m:predict", "MLFLOW": "/invocations"}


@pytest.fixture(params=list(PATHS))
def protocol(request: Any) -> str:
    return str(request.param)


@pytest.fixture
def ask(models: Any, open_model: Any, protocol: str) -> Any:
    """Asks a model that answers so, and gives predictions and names."""

    def ask(predictions: Any, **address: Any) -> tuple[Any, tuple[str, ...]]:
        models.answers[f"POST {PATHS[protocol]}"] = {"predictions": predictions}
        models.answers["GET /version"] = b"3.17.2"
        model = open_model(protocol, **{"inputs": MATRIX, **address})
        return model.predict({"x": ROWS}).tolist(), model.describe().output_names

    return ask


def refusal(call: Any) -> ExplainError:
    with pytest.raises(ExplainError) as raised:
        call()
    return raised.value


@pytest.mark.parametrize(
    ("predictions", "matrix", "names"),
    [
        ([1, 2.5, 3], [[1], [2.5], [3]], ("0",)),
        ([[1], [2], [3]], [[1], [2], [3]], ("0",)),
        ([[1, 2], [3, 4], [5, 6]], [[1, 2], [3, 4], [5, 6]], ("0", "1")),
        ([{"p": 1}, {"p": 2}, {"p": 3}], [[1], [2], [3]], ("0",)),
        ([{"no": 1, "yes": 2}] * 3, [[1, 2]] * 3, ("no", "yes")),
        ([{"p": [1, 2]}] * 3, [[1, 2]] * 3, ("0", "1")),
        ({"p": [[1, 2]] * 3}, [[1, 2]] * 3, ("0", "1")),
        ({"no": [1, 2, 3], "yes": [4, 5, 6]}, [[1, 4], [2, 5], [3, 6]], ("no", "yes")),
    ],
)
def test_answers_are_understood_in_all_their_forms(
    ask: Any, predictions: Any, matrix: Any, names: tuple[str, ...]
) -> None:
    assert ask(predictions) == (matrix, names)


def test_a_field_is_taken_by_its_name(ask: Any) -> None:
    records = [{"label": "a", "scores": [0.1, 0.9]}] * 3

    assert ask(records, output="scores") == ([[0.1, 0.9]] * 3, ("0", "1"))
    assert ask({"label": ["a"] * 3, "scores": [0.5] * 3}, output="scores")[0] == [[0.5]] * 3


def test_stated_names_of_outputs_are_kept(ask: Any) -> None:
    assert ask([[1, 2]] * 3, output_names=("no", "yes"))[1] == ("no", "yes")
    error = refusal(lambda: ask([[1, 2]] * 3, output_names=("no", "yes", "maybe")))
    assert (error.reason, error.field) == (Reason.INVALID_REQUEST, "model.remote.output_names")


@pytest.mark.parametrize(
    ("predictions", "reason", "part"),
    [
        ([1, 2], Reason.REMOTE_MODEL_ANSWER, "2 rows when 3"),
        ([1, "2", 3], Reason.REMOTE_MODEL_ANSWER, 'such as "2"'),
        (["a", "b", "c"], Reason.REMOTE_MODEL_ANSWER, "probabilities"),
        ([[1], [2, 3], [4]], Reason.REMOTE_MODEL_ANSWER, "unequal"),
        ([[[1, 2]]] * 3, Reason.REMOTE_MODEL_ANSWER, "the shape"),
        ([[], [], []], Reason.REMOTE_MODEL_ANSWER, "the shape"),
        ([10**400, 1, 1], Reason.REMOTE_MODEL_ANSWER, "beyond"),
        ([{"p": 1}, {"q": 2}, {"p": 3}], Reason.REMOTE_MODEL_ANSWER, "different fields"),
        ([{"p": 1}, 2, 3], Reason.REMOTE_MODEL_ANSWER, "different fields"),
        ({"p": [1, 2, 3], "q": [1, 2]}, Reason.REMOTE_MODEL_ANSWER, "unequal"),
        ({"p": 1}, Reason.REMOTE_MODEL_ANSWER, "no list"),
        ("none", Reason.REMOTE_MODEL_ANSWER, "no list"),
        ([{"l": "a", "p": 1}] * 3, Reason.INVALID_REQUEST, '"l", "p"'),
        ([{"l": 1, "p": [1, 2]}] * 3, Reason.INVALID_REQUEST, '"l", "p"'),
    ],
)
def test_an_answer_that_is_no_prediction_is_refused(
    ask: Any, predictions: Any, reason: Reason, part: str
) -> None:
    error = refusal(lambda: ask(predictions))

    assert error.reason is reason
    assert part in error.message


def test_a_field_that_is_not_there_is_told(ask: Any) -> None:
    for predictions in ([1, 2, 3], [{"p": 1}] * 3, {"p": [1, 2, 3]}):
        error = refusal(lambda answer=predictions: ask(answer, output="q"))
        assert (error.reason, error.field) == (Reason.INVALID_REQUEST, "model.remote.output")


def test_without_inputs_one_matrix_is_sent(models: Any, open_model: Any, protocol: str) -> None:
    models.answers[f"POST {PATHS[protocol]}"] = {"predictions": [1.0] * 3}
    model = open_model(protocol)

    assert model.describe().inputs == (UNTOLD,)
    model.predict({UNTOLD.name: ROWS})
    (rows,) = json.loads(models.requests[-1].body).values()
    assert rows == [[1.5, -2.0], [0.25, None], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("protocol", "inputs", "feeds", "sent"),
    [
        (
            "KSERVE_V1",
            MATRIX,
            {"x": ROWS},
            {"instances": [[1.5, -2.0], [0.25, None], [3.0, 4.0]]},
        ),
        (
            "KSERVE_V1",
            COLUMNS,
            FEEDS,
            {"instances": [{"age": [4], "city": ["Ulm"]}, {"age": [5], "city": ["Köln"]}]},
        ),
        ("MLFLOW", MATRIX, {"x": ROWS}, {"inputs": [[1.5, -2.0], [0.25, None], [3.0, 4.0]]}),
        (
            "MLFLOW",
            NAMED,
            {"x": ROWS[:1]},
            {"dataframe_split": {"columns": ["a", "b"], "data": [[1.5, -2.0]]}},
        ),
        (
            "MLFLOW",
            COLUMNS,
            FEEDS,
            {"dataframe_split": {"columns": ["age", "city"], "data": [[4, "Ulm"], [5, "Köln"]]}},
        ),
    ],
)
def test_rows_are_sent_as_the_protocol_has_them(
    models: Any, open_model: Any, protocol: str, inputs: Any, feeds: Any, sent: Any
) -> None:
    count = len(next(iter(feeds.values())))
    models.answers[f"POST {PATHS[protocol]}"] = {"predictions": [1.0] * count}

    open_model(protocol, inputs=inputs).predict(feeds)

    assert json.loads(models.requests[-1].body) == sent


def test_mlflow_tells_its_version(models: Any, open_model: Any) -> None:
    model = open_model("MLFLOW", inputs=MATRIX)

    assert model.describe().platform == "MLflow"
    models.answers["GET /version"] = b"3.17.2\n"
    assert model.describe().platform == "MLflow 3.17.2"
