"""Run the recipes of docs/export.md, compare predictions, and write the recipes into the page.

Usage: python -m tools.export_page [--check] [SCRIPT ...]

With --check, nothing is written: it fails if the page differs from what was run.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import onnxplain
import pandas as pd

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "export.md"
SCRIPTS = ROOT / "examples" / "export"
TOLERANCE = 1e-5
"""Largest difference of predictions, relative to the largest prediction; the page states it."""

_MARKED = "<!-- {}: written by `make export`. -->"
_ENGINES = {
    "TREES": "exactly, from its trees",
    "ADDITIVE": "exactly, from its terms",
    "BLACK_BOX": "by predicting",
}
_VERSIONS = (
    "import json, sys; from importlib.metadata import version; "
    "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
)


class ExportError(Exception):
    """An export that does not predict what its library predicts, or a page that is out of date."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A script that trains and exports a model.

    Attributes
    ----------
    title : str
    script : str
        Its file in examples/export.
    environment : str
        Folder of the environment that it runs in.
    packages : tuple of str
        Packages whose versions the page tells.
    """

    title: str
    script: str
    environment: str
    packages: tuple[str, ...]


RECIPES = (
    Recipe(
        "scikit-learn, with text columns",
        "from_scikit_learn.py",
        ".venv-models",
        ("scikit-learn", "skl2onnx"),
    ),
    Recipe("LightGBM", "from_lightgbm.py", ".venv-models", ("lightgbm", "onnxmltools")),
    Recipe("XGBoost", "from_xgboost.py", ".venv-models", ("xgboost-cpu", "onnxmltools")),
    Recipe("CatBoost", "from_catboost.py", ".venv-models", ("catboost",)),
    Recipe("PyTorch", "from_pytorch.py", ".venv-export", ("torch", "onnxscript")),
    Recipe(
        "TensorFlow and Keras",
        "from_keras.py",
        ".venv-export",
        ("keras", "tensorflow-cpu", "tf2onnx"),
    ),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("scripts", nargs="*", default=[recipe.script for recipe in RECIPES])
    options = parser.parse_args(arguments)
    page = PAGE.read_text(encoding="utf-8")
    for recipe in RECIPES:
        code = (SCRIPTS / recipe.script).read_text(encoding="utf-8")
        page = _replaced(page, recipe.script, f"```python\n{code}```")
        if recipe.script in options.scripts:
            row = run(recipe)
            print(row)  # noqa: T201 - a program
            page = _with_row(page, recipe, row)
    if options.check and page != PAGE.read_text(encoding="utf-8"):
        raise ExportError(f"{PAGE.name} is not what was run: `make export` writes it")
    PAGE.write_text(page, encoding="utf-8")


def run(recipe: Recipe) -> str:
    """Run a recipe, compare all its predictions, and return its row of the page's table.

    Raises
    ------
    ExportError
        If a prediction differs.
    """
    python = ROOT / recipe.environment / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        _output([python, SCRIPTS / recipe.script], folder)
        row_count, engine = _compared(Path(folder), recipe.title)
    versions = json.loads(_output([python, "-c", _VERSIONS, *recipe.packages], "."))
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    link = f"[{recipe.title}](#{_anchor(recipe.title)})"
    return f"| {link} | {told} | within 10⁻⁵ on {row_count} rows | {_ENGINES[engine]} |"


def _compared(folder: Path, title: str) -> tuple[int, str]:
    """Compare explained predictions with the library's, row by row; return rows and engine."""
    rows = pd.read_csv(folder / "rows.csv")
    each_row = onnxplain.AverageLoss(
        loss_expression="abs(y - p)", group_column="row", one_hot_target=False
    )
    with onnxplain.local() as client:
        explanation = client.explain(
            str(folder / "model.onnx"),
            rows.assign(row=[f"row {index}" for index in range(len(rows))]),
            each_row,
            target_column="predicted",
            plots=False,
        )
    differences = [loss.values[0] for loss in explanation.average_loss.losses]
    largest = TOLERANCE * rows["predicted"].abs().max()
    if len(differences) != len(rows) or not max(differences) <= largest:
        raise ExportError(f"{title}: predictions differ by {max(differences)}, over {largest}")
    return len(rows), explanation.receipt.engine


def _output(command: Sequence[str | Path], folder: str) -> str:
    done = subprocess.run(  # noqa: S603 - programs of this checkout
        command, cwd=folder, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise ExportError(f"{command[1]} failed: {done.stderr[-2000:]}")
    return done.stdout


def _replaced(page: str, name: str, text: str) -> str:
    """Replace what is between the marks of this name."""
    start, end = _MARKED.format(name), _MARKED.format(f"end of {name}")
    before, _, rest = page.partition(start)
    _, found, after = rest.partition(end)
    if not found:
        raise ExportError(f"{PAGE.name} has no part {name}")
    return f"{before}{start}\n\n{text}\n\n{end}{after}"


def _with_row(page: str, recipe: Recipe, row: str) -> str:
    """Replace the row of a recipe in the table."""
    pattern = rf"^\| \[{re.escape(recipe.title)}\].*$"
    changed, count = re.subn(pattern, lambda _: row, page, flags=re.MULTILINE)
    if count != 1:
        raise ExportError(f"{PAGE.name} has {count} rows of {recipe.title}")
    return changed


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


if __name__ == "__main__":
    main()
