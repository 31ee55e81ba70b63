"""In all plots of all conformance cases no text overlaps, is cut, or leaves the picture."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import legibility
import onnxplain
import pytest
import vl_convert
from google.protobuf import json_format
from onnxplain.external_data.folder import read_model
from onnxplain.table_files import from_bytes
from onnxplain.tables import to_table
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.model_pb2 import Model
from onnxplain_server.methods.interactions import Statistic
from onnxplain_server.plots import interactions as drawing

TESTS = Path(__file__).parents[1]
VEGA_LITE = "6.4"
LONG = {
    "sepal_length": "length_of_the_sepals_measured_in_cm_2024",
    "sepal_width": "width_of_the_sepals_measured_in_cm_in_24",
    "petal_length": "length_of_petals_where_they_are_longest_",
    "petal_width": "Width_Of_Petals_MEASURED_WHERE_WIDEST_XY",
}


def cases() -> dict[str, dict[str, Any]]:
    """Conformance cases that are drawn; of those that ask the same in another way, the first."""
    drawn: dict[str, tuple[str, dict[str, Any]]] = {}
    for path in sorted((TESTS / "conformance" / "cases").glob("*.json")):
        case = json.loads(path.read_text())
        if case["call"] in {"explain", "stream", "upload"} and "response" in case["expected"]:
            asked = {k: v for k, v in case["request"].items() if k not in {"plots", "engine"}}
            drawn.setdefault(json.dumps([case.get("model"), asked]), (path.stem, case))
    return dict(drawn.values())


CASES = cases()


@pytest.fixture(scope="module")
def client() -> Iterator[onnxplain.Client]:
    with onnxplain.local() as made:
        yield made


def plots(client: onnxplain.Client, case: dict[str, Any], names: dict[str, str]) -> list[Any]:
    """Ask for the case's plots, with features of other names."""

    def renamed(text: str) -> str:
        for name, other in names.items():
            text = text.replace(name, other)
        return text

    request = json_format.ParseDict(
        json.loads(renamed(json.dumps(case["request"]))) | {"plots": True}, ExplainRequest()
    )
    request.ClearField("model")
    request.ClearField("table")
    if "model" in case:
        request.model.CopyFrom(Model(content=read_model(TESTS / case["model"])))
    if "table" in case:
        content = (TESTS / case["table"]).read_bytes()
        content = renamed(content.decode()).encode() if case["table"].endswith(".csv") else content
        request.table.CopyFrom(from_bytes(content))
    if "columns" in case:
        request.table.CopyFrom(to_table(json.loads(renamed(json.dumps(case["columns"])))))
    answer = client.messages.explain(request)
    return [plot for explanation in answer.explanations for plot in explanation.plots]


def problems(vega_lite: str) -> list[str]:
    svg = vl_convert.vegalite_to_svg(vega_lite, vl_version=VEGA_LITE)
    assert "click" not in svg.lower(), "a still picture cannot be clicked"
    return legibility.problems(svg, json.loads(vega_lite))


@pytest.mark.parametrize("name", CASES)
def test_all_text_of_a_plot_can_be_read(client: onnxplain.Client, name: str) -> None:
    found = {plot.name: problems(plot.vega_lite) for plot in plots(client, CASES[name], {})}

    assert {name: texts for name, texts in found.items() if texts} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if str(case.get("table")).endswith("iris.csv")]
)
def test_names_of_forty_letters_can_be_read_too(client: onnxplain.Client, name: str) -> None:
    drawn = plots(client, CASES[name], LONG)
    found = {plot.name: problems(plot.vega_lite) for plot in drawn}

    assert {name: texts for name, texts in found.items() if texts} == {}


@pytest.fixture
def bars(interactions: Callable[..., Any], statistic: Callable[..., Statistic]) -> dict[str, Any]:
    """A plot with the labels age and income."""
    found = interactions(overall=(statistic("age", 0.04), statistic("income", 0.01)))
    spec: dict[str, Any] = drawing.plots(found)[0].vega_lite
    return spec


def test_a_plot_without_fault_has_no_problems(bars: dict[str, Any]) -> None:
    assert problems(json.dumps(bars)) == []


@pytest.mark.parametrize(
    ("part", "fault", "expected"),
    [
        pytest.param((), {"height": {"step": 4}}, "'age' overlaps 'income'", id="overlap"),
        pytest.param((), {"padding": -12}, "'income' leaves the picture", id="outside"),
        pytest.param(("y", "axis"), {"labelLimit": 20}, "is cut by Vega", id="cut"),
        pytest.param(("x", "axis"), {"format": "~s"}, "with a prefix", id="prefix"),
        pytest.param((), {"title": {"text": ["t" * 250], "subtitle": []}}, "are empty", id="empty"),
    ],
)
def test_the_check_finds_what_is_made_on_purpose(
    bars: dict[str, Any], part: tuple[str, ...], fault: dict[str, Any], expected: str
) -> None:
    faulty = bars
    for name in ("layer", 0, "encoding", *part) if part else ():
        faulty = faulty[name]  # type: ignore[index] # a list among mappings
    faulty |= fault

    assert any(expected in text for text in problems(json.dumps(bars)))
