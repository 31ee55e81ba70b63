"""Reports of every method on three models: a regression, a binary classifier and three classes.

    make report-pictures

writes one picture for each method: the beginning of its report for each of the three models, on a
wide screen, on one of 500 pixels, and printed; one for the overview of each model, on screens
of three widths; and the plots of attributions that their page shows. Needs chromium and pdftoppm.
"""

from __future__ import annotations

import gzip
import html
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pandas as pd
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain_server.cli.output.drawing import drawn
from onnxplain_server.cli.output.formats import PlotFormat
from onnxplain_server.report import page

ROOT = Path(__file__).parents[1]
WIDE, NARROW, PAPER = 1400, 500, 794
"""Widths in pixels; an A4 page has 794 at 96 dots per inch."""
SCREENS = (WIDE, 800, 400)
NARROWEST = 500
"""Pixels of the narrowest window that Chromium opens; narrower pages stand in a frame."""

_SHOWN = 1500  # pixels of a report that a picture shows
_SCALE = 0.34
_OVERVIEW_SHOWN, _OVERVIEW_SCALE = 1100, 0.6
_GAP = 24
_ONE_PAGE_DPI = 96


@dataclass(frozen=True)
class Task:
    """A model with its table, and what is asked of them.

    Attributes
    ----------
    features : two names
        Whose curves are drawn.
    group : str
        Column that groups the rows.
    options : dict
        Arguments of `onnxplain.Client.explain`.
    """

    model: Path
    table: pd.DataFrame
    features: tuple[str, str]
    group: str
    options: dict[str, Any] = field(default_factory=dict)


def tasks() -> dict[str, Task]:
    """Return the three tasks by name."""
    miami = _read("examples/miami/miami_housing.csv.gz")
    miami["log_SALE_PRC"] = np.log(miami["SALE_PRC"])
    area = ["OCEAN_DIST", "TOT_LVG_AREA", "LND_SQFOOT", "structure_quality", "age", "month_sold"]
    return {
        "regression": Task(
            ROOT / "examples/miami/miami.onnx",
            miami[[*area, "log_SALE_PRC"]].iloc[::5],
            ("OCEAN_DIST", "age"),
            "structure_quality",
            {"target_column": "log_SALE_PRC"},
        ),
        "binary": Task(
            ROOT / "tests/models/sklearn_columns_error.onnx",
            _read("tests/models/data/indian_liver_patient.csv"),
            ("Total_Bilirubin", "Gender"),
            "Gender",
            {"target_column": "liver_patient", "model_name": "liver.onnx"},
        ),
        "three classes": Task(
            ROOT / "examples/iris/lightgbm.onnx",
            _read("examples/iris/iris.csv"),
            ("petal_length", "petal_width"),
            "species",
            {"target_column": "species", "model_name": "iris.onnx"},
        ),
    }


def methods(task: Task) -> dict[str, list[Any]]:
    """Return what is asked by each method."""
    first, second = task.features
    is_regression = task.group == "structure_quality"
    swarm = onnxplain.Swarm(loss="SQUARED_ERROR") if is_regression else onnxplain.Swarm()
    return {
        "interactions": [
            onnxplain.Interactions(pairwise_feature_count=4, threeway_feature_count=3)
        ],
        "partial-dependence": [
            onnxplain.PartialDependence(features=[first, task.features]),
            onnxplain.PartialDependence(features=[first], group_column=task.group),
        ],
        "individual-conditional-expectation": [
            onnxplain.IndividualConditionalExpectation(features=[first, second])
        ],
        "accumulated-local-effects": [
            onnxplain.AccumulatedLocalEffects(features=[first], repeat_count=100),
            onnxplain.AccumulatedLocalEffects(features=[second], group_column=task.group),
        ],
        "permutation-importance": [onnxplain.PermutationImportance()],
        "average-loss": [onnxplain.AverageLoss(group_column=task.group)],
        "feature-vectors": [onnxplain.FeatureVectors()],
        "firm": [onnxplain.Firm(repeat_count=100)],
        "swarm": [swarm],
        "attributions": [
            onnxplain.Attributions(row_indices=[3]),
            onnxplain.Attributions(permutation_count=50),
        ],
    }


def answer(client: onnxplain.Client, task: Task, asked: list[Any]) -> ExplainResponse:
    """Ask for explanations."""
    message: ExplainResponse = client.explain(
        task.model, task.table, *asked, **task.options
    ).message
    return message


def framed(document: str, width: int, height: int = 1000) -> str:
    """Put a page into a frame of a width."""
    text = json.dumps(document).replace("<", "\\u003c")
    return (
        f'<!doctype html><body style="margin: 0"><iframe style="border: 0; width: {width}px; '
        f'height: {height}px"></iframe><script>document.querySelector("iframe").srcdoc = {text}'
        "</script></body>"
    )


def screenshot(source: Path, target: Path, width: int, height: int) -> None:
    """Write the beginning of a page as PNG."""
    _chromium(source, f"--window-size={width},{height}", f"--screenshot={target}")


def printed(source: Path, target: Path) -> None:
    """Print a page to PDF."""
    _chromium(source, "--no-pdf-header-footer", f"--print-to-pdf={target}")


def document(source: Path, width: int) -> str:
    """Return the elements of a page, as they are when its scripts have run."""
    return _chromium(source, f"--window-size={width},1000", "--dump-dom")


def _chromium(source: Path, *arguments: str) -> str:
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    # Time that scripts think has passed; the browser does not wait for it.
    command += ["--virtual-time-budget=60000", *arguments, source.as_uri()]
    done = subprocess.run(  # noqa: S603 - on a page of our own
        command, check=True, capture_output=True, text=True
    )
    return done.stdout


def _read(path: str) -> pd.DataFrame:
    content = (ROOT / path).read_bytes()
    return pd.read_csv(BytesIO(gzip.decompress(content) if path.endswith(".gz") else content))


def _sheet(parts: dict[str, dict[str, Path]], target: Path, folder: Path) -> None:
    """Put the pictures of one method together: a row for each task."""
    height = round(_SHOWN * _SCALE)
    rows = []
    for task, pictures in parts.items():
        images = "".join(
            f'<div style="width:{round(width * _SCALE)}px;height:{height}px;overflow:hidden">'
            f'<img style="width:100%" src="{pictures[name].as_uri()}"></div>'
            for name, width in (("wide", WIDE), ("narrow", NARROW), ("paper", PAPER))
        )
        rows.append(f"<h2>{html.escape(task)}</h2><section>{images}</section>")
    style = (
        f"body{{margin:{_GAP}px;background:#c8ccd2;font:15px sans-serif}}"
        f"section{{display:flex;gap:{_GAP}px}}h2{{font-size:15px;margin:8px 0}}"
    )
    page_file = folder / "sheet.html"
    page_file.write_text(f"<style>{style}</style>{''.join(rows)}", encoding="utf-8")
    width = round((WIDE + NARROW + PAPER) * _SCALE) + 4 * _GAP
    screenshot(page_file, target, width, len(parts) * (height + 38) + 2 * _GAP)


def _pictures(answered: ExplainResponse, folder: Path, stem: str) -> dict[str, Path]:
    source = folder / f"{stem}.html"
    source.write_text(page.of_response(answered), encoding="utf-8")
    found = {name: folder / f"{stem}-{name}.png" for name in ("wide", "narrow", "paper")}
    screenshot(source, found["wide"], WIDE, _SHOWN)
    screenshot(source, found["narrow"], NARROW, _SHOWN)
    printed(source, folder / "paper.pdf")
    command = ["pdftoppm", "-r", str(_ONE_PAGE_DPI), "-f", "1", "-l", "1", "-singlefile", "-png"]
    command += [str(folder / "paper.pdf"), str(found["paper"].with_suffix(""))]
    subprocess.run(command, check=True)  # noqa: S603 - on what was just printed
    return found


def overview(answered: ExplainResponse, target: Path, folder: Path) -> None:
    """Write the beginning of an overview's report on screens of three widths, side by side."""
    images = []
    for width in SCREENS:
        source, taken = folder / "overview.html", folder / f"overview-{width}.png"
        text = page.of_response(answered)
        shown = text if width >= NARROWEST else framed(text, width, _OVERVIEW_SHOWN)
        source.write_text(shown, encoding="utf-8")
        screenshot(source, taken, max(width, NARROWEST), _OVERVIEW_SHOWN)
        images.append(
            f'<div style="width:{round(width * _OVERVIEW_SCALE)}px;overflow:hidden">'
            f'<img style="zoom:{_OVERVIEW_SCALE}" src="{taken.as_uri()}"></div>'
        )
    style = f"body{{margin:{_GAP}px;background:#c8ccd2;display:flex;gap:{_GAP}px}}"
    sheet = folder / "sheet.html"
    sheet.write_text(f"<style>{style}</style>{''.join(images)}", encoding="utf-8")
    width = round(sum(SCREENS) * _OVERVIEW_SCALE) + 4 * _GAP
    screenshot(sheet, target, width, round(_OVERVIEW_SHOWN * _OVERVIEW_SCALE) + 2 * _GAP)


def attribution_plots(client: onnxplain.Client, task: Task, target: Path) -> None:
    """Write the plots of the regression's pairs, along a feature, and of a few rows."""
    along = "attributions-dependence-OCEAN-DIST"
    asked = {
        onnxplain.Attributions(order=2, explained_row_count=1_000): (along, "attributions-pairs"),
        onnxplain.Attributions(row_indices=[3, 17, 40]): ("attributions-decision",),
    }
    for options, names in asked.items():
        answered = answer(client, task, [options])
        for name in names:
            picture = target / f"{name}.png"
            picture.write_bytes(drawn(answered, name, None, PlotFormat.PNG))


def main() -> None:
    """Write the pictures into the folder of the command line."""
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    by_task = {name: (task, methods(task)) for name, task in tasks().items()}
    with onnxplain.local() as client, tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        attribution_plots(client, by_task["regression"][0], target)
        for name, (task, _) in by_task.items():
            stem = name.replace(" ", "-")
            overview(answer(client, task, []), target / f"overview-{stem}.png", folder)
        for method in next(iter(by_task.values()))[1]:
            parts = {
                name: _pictures(answer(client, task, asked[method]), folder, name.replace(" ", "-"))
                for name, (task, asked) in by_task.items()
            }
            _sheet(parts, target / f"{method}.png", folder)


if __name__ == "__main__":
    main()
