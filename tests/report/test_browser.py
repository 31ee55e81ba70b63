"""Reports of every method for a regression and for two and three classes, in Chromium."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import in_browser
import onnxplain
import pytest
from onnxplain_server.report import page

from examples import reports

pytestmark = pytest.mark.slow

TASKS = reports.tasks()
LONG = {
    "sepal_length": "length_of_the_sepals_measured_in_cm_2024",
    "sepal_width": "width_of_the_sepals_measured_in_cm_in_24",
    "petal_length": "length_of_petals_where_they_are_longest_",
    "petal_width": "Width_Of_Petals_MEASURED_WHERE_WIDEST_XY",
}
WIDTHS = (1400, 800, 400)
GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
IRIS = TASKS["three classes"]
TASKS_AND_LONG = TASKS | {
    "long names": replace(
        IRIS,
        table=IRIS.table.rename(columns=LONG),
        features=(LONG[IRIS.features[0]], LONG[IRIS.features[1]]),
    )
}
METHODS = tuple(reports.methods(TASKS["binary"]))


@pytest.fixture(scope="module")
def client() -> Iterator[onnxplain.Client]:
    with onnxplain.local() as made:
        yield made


@pytest.fixture(scope="module")
def rendered(
    client: onnxplain.Client, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Write the report of all methods for a task, once."""
    folder = tmp_path_factory.mktemp("reports")

    def written(name: str) -> Path:
        target = folder / f"{name}.html"
        if not target.exists():
            task = TASKS_AND_LONG[name]
            asked = [one for several in reports.methods(task).values() for one in several]
            target.write_text(page.of_response(reports.answer(client, task, asked)))
        return target

    return written


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", TASKS_AND_LONG)
def test_all_plots_are_drawn_and_can_be_read(
    program: Callable[[str], str],
    rendered: Callable[[str], Path],
    tmp_path: Path,
    name: str,
    width: int,
) -> None:
    program("chromium")

    figures, problems = in_browser.problems(rendered(name), tmp_path / "checked.html", width)

    assert problems == []
    assert figures == rendered(name).read_text().count("<figure") > len(METHODS)


def test_the_check_finds_labels_that_overlap(
    program: Callable[[str], str], rendered: Callable[[str], Path], tmp_path: Path
) -> None:
    program("chromium")
    broken = tmp_path / "broken.html"
    html = rendered("three classes").read_text()
    broken.write_text(re.sub(r'"height":\{"step":\d+', '"height":{"step":1', html))

    _, problems = in_browser.problems(broken, tmp_path / "checked.html", WIDTHS[0])

    assert any("petal_length overlaps" in problem for problem in problems)


def test_an_overview_has_importances_on_the_first_screen_and_curves_on_the_second(
    program: Callable[[str], str], client: onnxplain.Client, tmp_path: Path
) -> None:
    """Of three classes, with correlated features and doubts about curves."""
    program("chromium")
    model, table = (GALLERY / f"vertebral.{ending}" for ending in ("onnx", "csv.gz"))
    report = tmp_path / "report.html"
    answer = client.explain(model, table, target_column="class").message
    report.write_text(page.of_response(answer))

    firsts = in_browser.firsts(report, tmp_path / "checked.html", 1280)

    assert 0 < firsts["bar"] < 800
    assert firsts["bar"] < firsts["curve"] < 1600


def test_names_below_cells_that_get_narrower_do_not_overlap(
    program: Callable[[str], str], client: onnxplain.Client, tmp_path: Path
) -> None:
    """Of a matrix whose names stand upright below its cells on a wide screen."""
    program("chromium")
    files = [GALLERY / f"pima.{ending}" for ending in ("onnx", "csv.gz")]
    answer = client.explain(files[0], files[1], onnxplain.Interactions())
    matrix = next(plot for plot in answer.message.explanations[0].plots if plot.name == "matrix")
    report = tmp_path / "report.html"
    report.write_text(page.of_plot(matrix))

    assert in_browser.problems(report, tmp_path / "checked.html", WIDTHS[-1]) == (1, [])


@pytest.mark.parametrize("name", TASKS)
def test_a_report_can_be_printed(
    program: Callable[[str], str], rendered: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    program("chromium")
    target = tmp_path / "report.pdf"

    reports.printed(rendered(name), target)

    content = target.read_bytes()
    assert content.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) >= len(METHODS)
