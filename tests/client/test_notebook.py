"""The example notebook, run from its first cell to its last in a kernel of its own."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from onnxplain.requests.forms import METHOD_NAMES

slow = pytest.mark.slow

NOTEBOOK = Path(__file__).parents[2] / "clients/python/examples/first_steps.ipynb"

VEGA_LITE = "application/vnd.vegalite.v6+json"

Outputs = dict[str, list[Any]]


def read():
    return nbformat.read(NOTEBOOK, as_version=4)


@pytest.fixture(scope="module")
def outputs(executed: Any) -> Outputs:
    """Return what each cell shows: one bundle of MIME types per output."""
    cells = [cell for cell in executed.cells if cell.cell_type == "code"]
    return {cell.id: [output.get("data", output) for output in cell.outputs] for cell in cells}


@slow
def test_a_frame_is_shown(outputs: Outputs) -> None:
    (frame,) = outputs["pairs"]
    assert "<table" in frame["text/html"]
    assert "pairwise" in frame["text/plain"]


@slow
def test_every_method_and_each_of_its_plots_is_shown(outputs: Outputs) -> None:
    words = set(re.findall(r"\w+", NOTEBOOK.read_text(encoding="utf-8")))
    options = {name: name.title().replace("_", "") for name in METHOD_NAMES}
    assert [n for n, kind in options.items() if not {n, kind} & words] == []

    shown = [output for cell in outputs.values() for output in cell if VEGA_LITE in output]
    assert len(shown) > 25
    for plot in shown:
        assert plot["text/html"].startswith("<img alt=")
        assert plot["image/png"]
        assert plot[VEGA_LITE]["$schema"].endswith("/vega-lite/v6.json")
        assert plot["text/plain"]


@slow
def test_the_bar_is_one_output_that_ends_where_the_work_did(outputs: Outputs) -> None:
    """By default: the cell does not ask for it."""
    (bar,) = outputs["explain"]

    assert "<progress" in bar["text/html"]
    assert bar["text/plain"].startswith("100% of the work")


@slow
def test_an_answer_shows_its_warnings_and_pictures(outputs: Outputs) -> None:
    (answer,) = outputs["found"]

    assert "100 of 13,932 rows were drawn" in answer["text/html"]
    assert answer["text/html"].count("<h4>") == 5
    assert 5 <= answer["text/html"].count("<img") <= 10
    assert "rows predicted · engine" in answer["text/html"]


@slow
def test_a_kept_answer_is_the_same_when_it_is_read(outputs: Outputs) -> None:
    assert [found["text/plain"] for found in outputs["files"]] == ["True"]


def test_the_notebook_is_kept_without_outputs() -> None:
    notebook = read()
    assert not [cell for cell in notebook.cells if cell.get("outputs")]
