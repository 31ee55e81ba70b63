"""The example notebook, run from its first cell to its last in a kernel of its own."""

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "clients/python/examples/first_steps.ipynb"

Outputs = dict[str, list[Any]]


def read():
    return nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call] # it has no types


@pytest.fixture(scope="module")
def outputs() -> Outputs:
    """Run the notebook; return what each cell shows: one bundle of MIME types per output."""
    notebook = read()
    resources = {"metadata": {"path": str(NOTEBOOK.parent)}}
    NotebookClient(notebook, timeout=600, startup_timeout=600, resources=resources).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return {cell.id: [output.get("data", output) for output in cell.outputs] for cell in cells}


def test_a_frame_is_shown(outputs: Outputs) -> None:
    (frame,) = outputs["pairs"]
    assert "<table" in frame["text/html"]
    assert "pairwise" in frame["text/plain"]


def test_a_plot_is_shown_as_vega_lite_and_as_words(outputs: Outputs) -> None:
    (plot,) = outputs["plot"]

    spec = plot["application/vnd.vegalite.v6+json"]
    assert spec["$schema"].endswith("/vega-lite/v6.json")
    assert json.dumps(spec).count("age")
    assert plot["text/plain"].startswith("Partial dependence on age")


def test_the_bar_is_one_output_that_ends_where_the_work_did(outputs: Outputs) -> None:
    (bar,) = outputs["explain"]

    assert "<progress" in bar["text/html"]
    assert bar["text/plain"].startswith("100% of at most")


def test_an_answer_shows_its_warnings_and_tables(outputs: Outputs) -> None:
    (answer,) = outputs["found"]

    assert "100 of 13,932 rows were drawn" in answer["text/html"]
    assert answer["text/html"].count("<table>") == 2


def test_the_notebook_is_kept_without_outputs() -> None:
    notebook = read()
    assert not [cell for cell in notebook.cells if cell.get("outputs")]
