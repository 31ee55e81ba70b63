"""Laws of case weights, for all methods and engines: through messages, as transports do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import json_format
from onnxplain.results.canonical_json import to_json
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

pytestmark = pytest.mark.usefixtures("few_trees")

MODELS = Path(__file__).parents[1] / "models"
WIDTHS = {"lightgbm_3class": 4, "sklearn_gradient_boosting": 10, "network_double": 10}
CASES = [
    ("lightgbm_3class", "TREES"),
    ("lightgbm_3class", "BLACK_BOX"),
    ("sklearn_gradient_boosting", "TREES"),
    ("sklearn_gradient_boosting", "BLACK_BOX"),
    ("network_double", "BLACK_BOX"),
]
FACTORS = [
    (*case, factor)
    for case, factor in zip(CASES, [7.0, 2.0**1000, 2.0**1021, 2.0**-1060, None], strict=True)
]
"""Each factor and each case once: what scales weights knows neither model nor engine."""
ROWS = 12

Columns = Mapping[str, Any]
Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    made = InProcess(2)
    yield made
    made.close()


@pytest.fixture(scope="module")
def ask(runner: InProcess, make) -> Ask:
    """Ask a model for methods, by their fields in the request."""

    def asked(model: str, engine: str, columns: Columns, methods, **about):
        request = json_format.ParseDict(
            {
                "engine": engine,
                "targetColumn": "y",
                "weightColumn": "w",
                "methods": methods,
                "plots": False,
                "table": {"columns": {"columns": [_column(n, v) for n, v in columns.items()]}},
                "featureColumns": [f"x{j}" for j in range(WIDTHS[model])],
            }
            | about,
            ExplainRequest(),
        )
        request.model.content = (MODELS / f"{model}.onnx").read_bytes()
        answer = runner.answer(
            Call(ServiceMethod.EXPLAIN, request.SerializeToString()), make.host()
        ).content
        told = json.loads(to_json(ExplainResponse.FromString(answer)))
        return {key: told[key] for key in ("explanations", "warnings")} | {
            "rows": told["receipt"]["rowCount"]
        }

    return asked


def _column(name: str, values: Sequence[Any]) -> dict[str, Any]:
    is_text = any(isinstance(value, str) and value != "NaN" for value in values)
    return {"name": name, "strings" if is_text else "numbers": list(values)}


def methods_of(model: str) -> list[Any]:
    """Ask for all that weights may change."""
    group = {"groupColumn": "g", "groupCount": 3}
    classes = model == "lightgbm_3class"
    names = [{"names": ["x0"]}, {"names": ["x1", "x2"]}]
    return [
        {"interactions": {"features": ["x0", "x1", "x2"], "threewayFeatureCount": 3}},
        {"interactions": {"features": ["x0", "x1"], "repeatCount": 10}},
        {"partialDependence": {"features": names, "gridSize": 4} | group},
        {"individualConditionalExpectation": {"features": ["x0"], "gridSize": 3, "curveCount": 5}},
        {"permutationImportance": {"features": names, "repeatCount": 2}},
        {"averageLoss": {} | group},
        {"firm": {"features": ["x0", "x1 > 0"]}},
        {"featureVectors": {"source": "SURROGATE", "sentenceCount": 200, "depth": 2}},
        {"swarm": {"features": ["x0"], "particleCount": 3, "iterationCount": 3}
         | ({} if classes else {"loss": "SQUARED_ERROR"})},
    ]  # fmt: skip


def table(model: str, rows: int, seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    numbers = random.normal(3, 2, (WIDTHS[model], rows)).round(1)
    columns: dict[str, Any] = {f"x{j}": column for j, column in enumerate(numbers)}
    columns["y"] = np.arange(rows) % 3
    if model == "lightgbm_3class":
        columns["y"] = [f"{int(k)}" for k in columns["y"]]
    columns["g"] = random.choice(["a", "b"], rows).tolist()
    columns["w"] = random.integers(1, 5, rows).astype(float)
    return columns


def same(found, expected, path: str = "", *, scale: float = 1.0) -> None:
    """Compare answers, but for the rounding of their numbers; weights may be scaled."""
    if isinstance(expected, dict):
        assert list(found) == list(expected), path
        for key in expected:
            is_weight = (key == "weight" and "swarm" not in path) or path.endswith("values")
            if key == "rowWeights" or (key in {"weight", "counts"} and is_weight):
                with np.errstate(over="ignore"):
                    weights = np.array(expected[key], dtype=float) * scale
                assert np.array(found[key], dtype=float) == pytest.approx(weights), path
            else:
                same(found[key], expected[key], f"{path}.{key}", scale=scale)
    elif isinstance(expected, list):
        assert len(found) == len(expected), path
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            same(one, other, f"{path}[{i}]", scale=scale)
    elif isinstance(expected, float | int) and not isinstance(expected, bool):
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-6), path
    else:
        assert found == expected, path


def without_positions(answer: dict[str, Any]) -> dict[str, Any]:
    """Leave out the positions of rows, which rows between them shift."""
    for explanation in answer["explanations"]:
        for curves in explanation.get("individualConditionalExpectation", {}).get("curves", ()):
            del curves["rowIndices"]
    return answer


def draws_rows(method: dict[str, Any]) -> bool:
    """Return whether random numbers of rows, by their places in the table, have a part in it."""
    options = method.get("interactions", {})
    names = {"individualConditionalExpectation", "permutationImportance"}
    return bool(names & set(method)) or "repeatCount" in options


@pytest.mark.parametrize(("model", "engine"), CASES)
def test_rows_of_weight_zero_change_nothing_where_no_row_is_drawn(
    ask: Ask, model: str, engine: str
) -> None:
    methods = [method for method in methods_of(model) if not draws_rows(method)]

    check_unchanged(ask, model, engine, [0, 5, 5, ROWS], methods)


@pytest.mark.parametrize(("model", "engine"), CASES)
def test_rows_of_weight_zero_after_all_others_change_nothing(
    ask: Ask, model: str, engine: str
) -> None:
    methods = [method for method in methods_of(model) if draws_rows(method)]

    check_unchanged(ask, model, engine, [ROWS] * 3, methods)


def check_unchanged(
    ask: Ask, model: str, engine: str, places: list[int], methods: list[Any]
) -> None:
    """Add rows whose values would be refused, or would be classes and groups of their own."""
    columns = table(model, ROWS, 7)
    strange = {"y": "?" if isinstance(columns["y"][0], str) else "NaN", "g": "z", "w": 0.0}
    more = {
        name: np.insert(np.array(values, dtype=object), places, strange.get(name, 1e6)).tolist()
        for name, values in columns.items()
    }

    expected, found = (ask(model, engine, one, methods) for one in (columns, more))

    same(without_positions(found), without_positions(expected))


@pytest.mark.parametrize(("model", "engine", "factor"), FACTORS)
def test_weights_count_by_their_ratios_alone(
    ask: Ask, model: str, engine: str, factor: float | None
) -> None:
    """Also where they are denormal, or their sum overflows, by far or by a little (None)."""
    columns = table(model, ROWS, 1)
    factor = factor or float(np.finfo(np.float64).max / (columns["w"].sum() / 1.2))
    methods = methods_of(model)

    expected, found = (
        ask(model, engine, columns | {"w": columns["w"] * by}, methods) for by in (1.0, factor)
    )

    same(without_positions(found), without_positions(expected), scale=factor)


@pytest.mark.parametrize("model", ["lightgbm_3class", "sklearn_gradient_boosting"])
@pytest.mark.parametrize("weights", [[0.0, 1, 2.5, 1, 2.5] * 2, [1e300, 1e-300, 0.0, 1, 2.5] * 2])
def test_both_engines_agree_under_any_weights(ask: Ask, model: str, weights: list[float]) -> None:
    columns = table(model, ROWS, 2) | {"w": [1.0, 2.0, *weights]}
    methods = [m for m in methods_of(model) if not {"featureVectors", "swarm"} & set(m)]

    trees, black_box = (
        without_positions(ask(model, engine, columns, methods)) for engine in ("TREES", "BLACK_BOX")
    )

    for one, other in zip(trees["explanations"], black_box["explanations"], strict=True):
        near(one, other)


def near(found, expected, path: str = "") -> None:
    """Compare the answers of two engines, of which one rounds as float32."""
    if isinstance(expected, dict):
        for key in expected:
            near(found[key], expected[key], f"{path}.{key}")
    elif isinstance(expected, list):
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            near(one, other, f"{path}[{i}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-4), path


@pytest.mark.parametrize("method", ["featureVectors", "swarm"])
def test_a_row_of_weight_zero_can_be_explained_by_itself(ask: Ask, method: str) -> None:
    """As one of full weight, because its own weight is not asked for."""
    columns = table("lightgbm_3class", 30, 3)
    options = {"rowIndices": [4]} | (
        {"source": "SURROGATE", "sentenceCount": 200, "depth": 2}
        if method == "featureVectors"
        else {"features": ["x0"]}
    )
    weights = np.where(np.isin(np.arange(30), [1, 4]), 0.0, columns["w"])

    found = ask("lightgbm_3class", "TREES", columns | {"w": weights}, [{method: options}])

    if method == "swarm":
        assert {one["rowIndex"] for one in found["explanations"][0]["swarm"]["effects"]} == {4}
    else:
        assert found["explanations"][0]["featureVectors"]["sentenceCount"] > 0


def test_rows_are_named_as_they_were_sent(ask: Ask) -> None:
    columns = table("sklearn_gradient_boosting", 6, 4) | {"w": [0.0, 1, 0, 1, 0, 1]}
    asked = [{"individualConditionalExpectation": {"features": ["x0"], "gridSize": 2}}]

    (told,) = ask("sklearn_gradient_boosting", "TREES", columns, asked)["explanations"]

    (curves,) = told["individualConditionalExpectation"]["curves"]
    assert curves["rowIndices"] == [1, 3, 5]
