"""What is written of the chart by the code is fresh, and its versions are the project's."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from onnxplain_server.config.settings import Settings

WRITTEN = ["README.md", "values.schema.json", "templates/_defaults.tpl"]


@pytest.fixture(scope="session")
def chart(root: Path) -> Path:
    return root / "deploy/helm/onnxplain"


@pytest.fixture(scope="session")
def written(root: Path, chart: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the chart that the code writes, in a folder of their own."""
    folder = tmp_path_factory.mktemp("chart")
    command = [sys.executable, "-m", "tools.chart", str(chart), str(folder)]
    subprocess.run(command, cwd=root, check=True)
    return folder


@pytest.fixture(scope="session")
def described(chart: Path):
    return yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", WRITTEN)
def test_what_the_code_writes_of_the_chart_is_fresh(chart: Path, written: Path, name: str) -> None:
    fresh = (written / name).read_text(encoding="utf-8")
    assert (chart / name).read_text(encoding="utf-8") == fresh, "run `make chart-files`"


def test_the_chart_runs_the_version_of_this_project(root: Path, described) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert described["appVersion"] == project["project"]["version"]


def test_the_chart_says_what_artifact_hub_shows(described) -> None:
    said = described["annotations"]
    assert said["artifacthub.io/license"] == "Apache-2.0"
    changes = yaml.safe_load(said["artifacthub.io/changes"])
    kinds = {"added", "changed", "deprecated", "removed", "fixed", "security"}
    assert {change["kind"] for change in changes} <= kinds


def test_every_setting_can_be_given_in_one_place(root: Path) -> None:
    """In `settings`, or as a value of the chart's own: one that is new must be put somewhere."""
    program = (
        "from tools.chart.schema import OF_THE_CHART, settings;"
        "print(*OF_THE_CHART, *settings()['properties'])"
    )
    known = subprocess.check_output([sys.executable, "-c", program], cwd=root, text=True).split()
    assert sorted(known) == sorted(Settings.model_fields)
