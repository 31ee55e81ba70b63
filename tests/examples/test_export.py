"""The recipes of docs/export.md export models that predict what their libraries predict."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.export_page import RECIPES, Recipe
from tools.missing_programs import DEMAND

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "examples" / "export"


def test_the_page_shows_each_recipe_as_it_is() -> None:
    page = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")

    assert sorted(recipe.script for recipe in RECIPES) == sorted(
        file.name for file in SCRIPTS.glob("*.py")
    )
    for recipe in RECIPES:
        code = (SCRIPTS / recipe.script).read_text(encoding="utf-8")
        assert f"```python\n{code}```" in page, "run `make export`"


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.script)
def test_exported_models_predict_what_their_libraries_predict(recipe: Recipe) -> None:
    """By a run of the recipe; the page's row, with the versions, is what the run gives."""
    if not (ROOT / recipe.environment).exists() and not os.environ.get(DEMAND):
        pytest.skip(f"{recipe.environment} is not made: make {recipe.environment}/.made")
    command = [sys.executable, "-m", "tools.export_page", "--check", recipe.script]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"| [{recipe.title}]")
