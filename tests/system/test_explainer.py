"""An explainer under the routes of KServe and MLflow: a real server, asked over HTTP."""

from __future__ import annotations

import csv
import http.client
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

MODELS = Path(__file__).parents[1] / "models"
MODEL = MODELS / "sklearn_gradient_boosting.onnx"
NAMES = [f"x{j}" for j in range(10)]
ROWS = np.round(np.random.default_rng(5).normal(size=(3, 10)), 3).tolist()
EXPLAIN = "/v1/models/boosted:explain"


class Http:
    """Asks one server."""

    def __init__(self, port: int) -> None:
        self._port = port

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        media_type: str = "",
        **further: str,
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=600)
        try:
            headers = {"Content-Type": media_type} if media_type else {}
            headers |= further
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def post(self, path: str, document: object) -> tuple[int, Any]:
        return self.ask("POST", path, json.dumps(document).encode(), "application/json")

    def explain(self, document: object, path: str = EXPLAIN) -> Any:
        status, answer = self.post(path, document)
        assert status == 200, answer
        return answer


@pytest.fixture(scope="module")
def background(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of numbers, with a column that is no feature."""
    path = tmp_path_factory.mktemp("explainer") / "background.csv"
    values = np.round(np.random.default_rng(3).normal(size=(60, 10)), 3).tolist()
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*NAMES, "note"])
        writer.writerows([*row, f"n{index % 2}"] for index, row in enumerate(values))
    return path


@pytest.fixture(scope="module")
def explainer(lasting_serve: Callable[..., Any], background: Path) -> Http:
    """An explainer that is ready and has computed its interactions."""
    server = lasting_serve(
        explainer_name="boosted",
        explainer_model=MODEL,
        explainer_background=background,
        explainer_feature_columns=",".join(NAMES),
    )
    server.wait_for_explainer("boosted")
    server.wait_for_log("interactions of boosted are computed", "no interactions of")
    return Http(server.rest_port)


def codes(answer: Mapping[str, Any]) -> list[str]:
    return [warning["code"] for warning in answer["warnings"]]


def results(answer: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the methods of an answer with their results, without what tells how they were made."""
    known = ("individualConditionalExpectation", "featureVectors", "interactions", "swarm")
    return [(k, e[k]) for e in answer["explanations"] for k in known if k in e]


def predictions(rows: Sequence[Sequence[float]]) -> list[float]:
    session = onnxruntime.InferenceSession(MODEL.read_bytes())
    name = session.get_inputs()[0].name
    answer = session.run(None, {name: np.asarray(rows, np.float32)})[0]
    return [float(value) for value in np.ravel(answer)]


def test_curves_go_through_the_row(explainer: Http, background: Path) -> None:
    """Each point is the model's prediction of the row, with the feature moved there."""
    (_, curves), *_ = results(explainer.explain({"instances": ROWS[:1]}))

    assert [curve["feature"] for curve in curves["curves"]] == NAMES
    values = np.loadtxt(background, delimiter=",", skiprows=1, usecols=range(10))
    for position, curve in enumerate(curves["curves"]):
        grid = curve["grid"][0]["numbers"]
        assert values[:, position].min() <= min(grid) < max(grid) <= values[:, position].max()
        moved = np.repeat(ROWS[:1], len(grid), axis=0)
        moved[:, position] = grid
        assert curve["rowIndices"] == [0]
        assert curve["values"] == pytest.approx(predictions(moved.tolist()), rel=1e-5)


def test_values_of_a_row_add_up_to_its_prediction(explainer: Http, background: Path) -> None:
    answer = explainer.explain({"instances": ROWS})["explanations"][0]["attributions"]

    assert answer["rowIndices"] == [0, 1, 2]
    assert answer["standardErrors"] == []
    values = np.loadtxt(background, delimiter=",", skiprows=1, usecols=range(10))
    average = float(np.mean(predictions(values.tolist())))
    assert answer["baseValues"] == pytest.approx([average], rel=1e-5)  # rows have no part in it
    total = np.reshape(answer["values"], (3, 10)).sum(axis=1) + average
    assert total == pytest.approx(predictions(ROWS), rel=1e-5)


def test_each_row_has_local_vectors(explainer: Http) -> None:
    answer = explainer.explain({"instances": ROWS})

    names = [name for name, _ in results(answer)]
    assert names == ["individualConditionalExpectation", *["featureVectors"] * 3, "interactions"]
    vectors = [e for e in answer["explanations"] if "featureVectors" in e]
    rows = [e["options"]["featureVectors"]["rowIndices"] for e in vectors]
    assert rows == [[0], [1], [2]]
    alone = explainer.explain({"instances": ROWS[2:]})
    assert results(alone)[1] == results(answer)[3]


def test_the_interactions_are_those_of_the_background(explainer: Http, background: Path) -> None:
    kept = results(explainer.explain({"instances": ROWS}))[-1]

    plain = explainer.explain(
        {
            "model": {"content": _base64(MODEL.read_bytes())},
            "table": {"csv": _base64(background.read_bytes())},
            "featureColumns": NAMES,
            "methods": [{"interactions": {}}],
            "plots": False,
        },
        "/v1/explanations",
    )
    assert results(plain) == [kept]


def _base64(content: bytes) -> str:
    import base64  # noqa: PLC0415 - of one function

    return base64.b64encode(content).decode()


def test_all_forms_of_rows_are_explained_alike(explainer: Http) -> None:
    """KServe's instances, tensors of the Open Inference Protocol, MLflow's forms, CSV."""
    records = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    expected = results(explainer.explain({"instances": ROWS}))
    flat = [value for row in ROWS for value in row]
    tensor = {"name": "rows", "shape": [3, 10], "datatype": "FP64", "data": flat}
    by_column = [
        {"name": name, "shape": [3, 1], "datatype": "FP64", "data": [row[j] for row in ROWS]}
        for j, name in enumerate(NAMES)
    ]
    text = io.StringIO()
    csv.writer(text).writerows([NAMES, *ROWS])

    assert results(explainer.explain({"instances": records})) == expected
    for inputs in ([tensor], by_column):
        answer = explainer.explain({"inputs": inputs}, "/v2/models/boosted/explain")
        (output,) = answer["outputs"]
        assert output.keys() == {"name", "datatype", "shape", "data"}
        assert results(json.loads(output["data"][0])) == expected
    for form in (
        {"dataframe_split": {"columns": NAMES, "data": ROWS}},
        {"dataframe_records": records},
        {"inputs": {name: [row[j] for row in ROWS] for j, name in enumerate(NAMES)}},
        {"instances": ROWS},
    ):
        assert results(explainer.explain(form, "/invocations")["predictions"]) == expected
    status, answer = explainer.ask("POST", "/invocations", text.getvalue().encode(), "text/csv")
    assert status == 200
    assert results(answer["predictions"]) == expected


def test_tensors_in_bytes_are_explained_as_those_in_json(explainer: Http) -> None:
    """As Triton's clients send them: behind the JSON, whose length a header tells."""
    content = np.asarray(ROWS).tobytes()
    sizes = {"shape": [3, 10], "parameters": {"binary_data_size": len(content)}}
    head = json.dumps({"inputs": [{"name": "rows", "datatype": "FP64", **sizes}]}).encode()
    path, length = "/v2/models/boosted/explain", "Inference-Header-Content-Length"

    _, answer = explainer.ask("POST", path, head + content, **{length: str(len(head))})
    refused, error = explainer.ask("POST", path, head + content, **{length: "-1"})

    expected = results(explainer.explain({"instances": ROWS}))
    assert results(json.loads(answer["outputs"][0]["data"][0])) == expected
    assert (refused, length in error["error"]) == (400, True)


def test_parameters_choose_methods_with_the_options_of_the_contract(explainer: Http) -> None:
    options = {"features": ["x3"], "gridSize": 5}
    methods = [{"individualConditionalExpectation": options}]

    answer = explainer.explain({"instances": ROWS[:2], "parameters": {"methods": methods}})

    ((_, curves),) = results(answer)
    (curve,) = curves["curves"]
    assert (curve["feature"], len(curve["grid"][0]["numbers"])) == ("x3", 5)
    assert curve["rowIndices"] == [0, 1]
    tensor = {"name": "r", "shape": [1, 10], "datatype": "FP64", "data": ROWS[0]}
    told = {"inputs": [tensor], "parameters": {"methods": json.dumps(methods)}}
    text = explainer.explain(told, "/v2/models/boosted/explain")["outputs"][0]["data"][0]
    assert results(json.loads(text))[0][1]["curves"][0]["grid"] == curve["grid"]


def test_the_model_is_explained_on_its_background_by_a_parameter(explainer: Http) -> None:
    methods = [{"partialDependence": {"features": [{"names": ["x0"]}], "gridSize": 3}}]

    answer = explainer.explain(
        {"instances": [], "parameters": {"global": True, "methods": methods}}
    )

    (explanation,) = answer["explanations"]
    assert len(explanation["partialDependence"]["curves"]) == 1
    assert explanation["rows"]["weight"] == 60


REFUSED: list[tuple[object, int, str]] = [
    ({"instances": []}, 400, "no row"),
    ({}, 400, "no row"),
    ({"instances": [ROWS[0][:9]]}, 400, "9 values"),
    ({"instances": [{"x0": 1.0}]}, 400, '"x1"'),
    ({"instances": [{**dict(zip(NAMES, ROWS[0], strict=True)), "z": 1}]}, 400, '"z"'),
    ({"instances": [["text", *ROWS[0][1:]]]}, 400, "text"),
    ({"instances": [[[1.0]]]}, 400, "instances"),
    ({"instances": ROWS, "inputs": {"x0": [1]}}, 400, "send one"),
    ({"instances": ROWS, "parameters": {"global": True}}, 400, "global"),
    ({"instances": ROWS, "parameters": {"methodz": []}}, 400, "methodz"),
    ({"instances": ROWS, "parameters": {"model": {"id": "x"}}}, 400, "operator"),
    ({"instances": ROWS, "parameters": {"targetColumn": "note"}}, 400, "operator"),
    ({"instances": ROWS, "unknown": 1}, 400, "unknown"),
    ({"inputs": [{"name": "r", "shape": [2, 10], "datatype": "FP64", "data": [1]}]}, 400, "shape"),
]


@pytest.mark.parametrize(("document", "status", "words"), REFUSED)
def test_what_cannot_be_explained_is_refused_in_a_sentence(
    explainer: Http, document: object, status: int, words: str
) -> None:
    code, answer = explainer.post(EXPLAIN, document)

    assert code == status, answer
    assert words in answer["error"]


def test_health_and_metadata_are_where_platforms_ask(explainer: Http) -> None:
    for path, told in {
        "/v1/models/boosted": {"name": "boosted", "ready": True},
        "/v2/models/boosted/ready": {"name": "boosted", "ready": True},
        "/": {"status": "alive"},
        "/v1/models": {"models": ["boosted"]},
        "/health": {"ready": True},
        "/ping": {"ready": True},
        "/v2/health/live": {"live": True},
        "/v2/health/ready": {"ready": True},
    }.items():
        assert explainer.ask("GET", path) == (200, told)
    assert explainer.ask("GET", "/v2/models/boosted")[1]["outputs"][0]["name"] == "explanation"
    assert explainer.ask("GET", "/v2")[1]["name"] == "onnxplain"
    assert "version" in explainer.ask("GET", "/version")[1]


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/v1/models/other:explain", 404, "boosted"),
        ("/v2/models/other/explain", 404, "boosted"),
        ("/v1/models/boosted:predict", 501, "predictor"),
        ("/v2/models/boosted/infer", 501, "predictor"),
    ],
)
def test_other_models_and_predictions_are_refused(
    explainer: Http, path: str, status: int, words: str
) -> None:
    code, answer = explainer.post(path, {"instances": ROWS})

    assert (code, words in answer["error"]) == (status, True)


def test_without_its_settings_there_is_no_explainer(lasting_server: Any) -> None:
    plain = Http(lasting_server.rest_port)

    for path in (EXPLAIN, "/v2/models/boosted/explain", "/invocations"):
        assert plain.post(path, {"instances": ROWS})[0] in {404, 405}
    for path in ("/health", "/v2/models/boosted", "/v2"):
        assert plain.ask("GET", path)[0] == 404


@pytest.mark.slow
def test_a_background_in_csv_has_text_as_it_stands_where_the_model_takes_text(
    lasting_serve: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "codes.csv"
    path.write_text("code,z\n" + "007,0\n7,1\n1e3,2\n1000,3\n" * 3)
    model = MODELS.parent / "conformance" / "files" / "codes.onnx"
    server = lasting_serve(explainer_name="codes", explainer_model=model, explainer_background=path)
    server.wait_for_explainer("codes")
    asked = Http(server.rest_port)
    for body, media_type in [
        (b'{"instances": [{"code": "007", "z": 0.5}]}', "application/json"),
        (b"code,z\n007,0.5\n", "text/csv"),
    ]:
        status, answer = asked.ask("POST", "/v1/models/codes:explain", body, media_type)
        assert status == 200, answer
        (_, curves), *_ = results(answer)
        grid = curves["curves"][0]["grid"][0]["strings"]
        moved = dict(zip(grid, curves["curves"][0]["values"], strict=True))
        assert moved == {"007": 1.5, "1000": 20.5, "1e3": 10.5, "7": 5.5}
