"""Write the gallery: for each model the beginning of its report as a picture, and its sentences.

    make gallery

explains each model on rows that it has not seen, and writes docs/gallery.md and
docs/images/gallery. `python -m examples.gallery.pictures FOLDER` writes what is looked at before a
release: reports at two widths, light and dark, notebook cells and terminals. Needs chromium.
"""

from __future__ import annotations

import html
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import onnxplain
from onnxplain_server.report import page

from examples.reports import NARROWEST, ROOT, framed, screenshot

HERE = Path(__file__).parent
PAGE = ROOT / "docs" / "gallery.md"
IMAGES = ROOT / "docs" / "images" / "gallery"

MODELS = {
    "california": ("median_house_value", "House values of Californian districts"),
    "miami": ("SALE_PRC", "Prices of houses in Miami"),
    "adult": ("income", "Incomes above 50,000 dollars"),
    "bank": ("y", "Clients of a bank who make a deposit"),
    "spam": ("spam", "Mail that is spam"),
    "wine": ("quality", "Grades of white wines"),
    "parkinsons": ("total_UPDRS", "Severity of Parkinson's disease from voices"),
    "pima": ("diabetes", "Diabetes"),
    "liver": ("liver_patient", "Patients of the liver"),
    "vertebral": ("class", "Diagnoses of the spine"),
}
"""Target and title of each, in the order of the page."""

WIDE = 1_280
_NARROW, _CELL = 400, 1_000
_SCREEN, _LONG_SCREEN = 1_000, 3_600
"""Pixels: widths, and heights of what is shown."""

_COLUMNS = 80
"""Of a terminal."""

_SENTENCES = 4
_HEAD = """# Gallery

Ten models of published tables, each explained by one command on rows that it has not seen.
Sentences and pictures are those of the answer; [where the tables are
from](../examples/gallery/README.md), and [what a reader says of each
picture](../examples/gallery/README.md#what-a-reader-says-of-the-first-screens). This page is
written by `make gallery`.
"""


def command(name: str) -> list[str]:
    """Return the command that explains a model."""
    model, table = (str(path.relative_to(ROOT)) for path in _files(name))
    return ["onnxplain", "explain", model, table, "--target-column", MODELS[name][0]]


def write_page(client: onnxplain.Client) -> None:
    """Write the page of the documents with its pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    parts = [_HEAD]
    for name, (_, title) in MODELS.items():
        answer = _answer(client, name)
        _picture(page.of_response(answer.message), IMAGES / f"{name}.png", WIDE, _SCREEN)
        sentences = [f"- {text}" for text in answer.message.summary[:_SENTENCES]]
        asked = ["```sh", " ".join(command(name)), "```"]
        image = f"![The beginning of the report of {name}.onnx](images/gallery/{name}.png)"
        parts.append("\n".join([f"## {title}", "", *sentences, "", *asked, "", image, ""]))
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def write_looks(client: onnxplain.Client, folder: Path) -> None:
    """Write reports at each width and colour scheme, notebook cells and terminals as pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in MODELS:
        answer = _answer(client, name)
        report = page.of_response(answer.message)
        dark = report.replace("(prefers-color-scheme: dark)", "(min-width: 1px)")
        _picture(report, folder / f"{name}-wide.png", WIDE, _LONG_SCREEN)
        _picture(report, folder / f"{name}-narrow.png", _NARROW, _LONG_SCREEN)
        _picture(dark, folder / f"{name}-dark.png", WIDE, _LONG_SCREEN)
        _picture(answer._repr_html_(), folder / f"{name}-notebook.png", _CELL, _LONG_SCREEN)
        shown = f"<pre>{html.escape(_in_terminal(name))}</pre>"
        _picture(shown, folder / f"{name}-terminal.png", _CELL, _LONG_SCREEN)


def _files(name: str) -> tuple[Path, Path]:
    return HERE / f"{name}.onnx", HERE / f"{name}.csv.gz"


def _answer(client: onnxplain.Client, name: str) -> onnxplain.Explanations:
    return client.explain(*_files(name), target_column=MODELS[name][0])


def _in_terminal(name: str) -> str:
    words = [sys.executable, "-m", "onnxplain_server", *command(name)[1:], "--output", "table"]
    environment = {**os.environ, "COLUMNS": str(_COLUMNS)}
    done = subprocess.run(  # noqa: S603 - our own program
        words, check=True, capture_output=True, text=True, cwd=ROOT, env=environment
    )
    return done.stdout


def _picture(content: str, target: Path, width: int, height: int) -> None:
    """Write the beginning of a page as PNG."""
    with tempfile.TemporaryDirectory() as folder:
        shown = Path(folder) / "shown.html"
        document = content if width >= NARROWEST else framed(content, width, height)
        shown.write_text(f"<meta charset=utf-8>{document}", encoding="utf-8")
        screenshot(shown, target, max(width, NARROWEST), height)


if __name__ == "__main__":
    with onnxplain.local() as local:
        if len(sys.argv) > 1:
            write_looks(local, Path(sys.argv[1]))
        else:
            write_page(local)
