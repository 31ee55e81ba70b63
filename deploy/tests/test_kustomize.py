"""The manifests that the chart renders, as users of kustomize take them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture(scope="session")
def manifests(root: Path) -> Path:
    return root / "deploy/manifests"


@pytest.fixture(scope="session")
def build(tools: Path) -> Callable[[Path], str]:
    """Build what a folder has for kustomize."""

    def built(folder: Path) -> str:
        command = [str(tools / "kustomize"), "build", str(folder)]
        command += ["--load-restrictor", "LoadRestrictionsNone"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    return built


def test_they_are_what_the_chart_renders_today(
    root: Path, tools: Path, manifests: Path, tmp_path: Path
) -> None:
    shutil.copy(manifests / "values.yaml", tmp_path)
    chart = root / "deploy/helm/onnxplain"
    command = [sys.executable, "-m", "tools.chart.manifests", tools / "helm", chart, tmp_path]
    subprocess.run([str(word) for word in command], cwd=root, check=True)
    fresh, committed = (
        {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
        for folder in (tmp_path, manifests)
    )
    assert committed == fresh, "run `make manifests`"


def test_all_are_built_and_have_no_fault(
    build: Callable[[Path], str], conform: Callable[[str], str], manifests: Path
) -> None:
    text = build(manifests)
    names = {path.name for path in manifests.iterdir()} - {"values.yaml", "kustomization.yaml"}
    assert len(list(yaml.safe_load_all(text))) == len(names)
    assert conform(text) == ""
    assert "Helm" not in text


@pytest.mark.parametrize(
    ("folder", "volumes", "policies"),
    [
        ("dask", {"tmp", "sources"}, {"scheduler", "worker", "sources"}),
        ("dask-tables", {"tmp", "sources", "tables"}, {"scheduler", "worker"}),
    ],
)
def test_dask_clusters_are_built_and_have_no_fault(
    root: Path,
    build: Callable[[Path], str],
    conform: Callable[[str], str],
    folder: str,
    volumes: set[str],
    policies: set[str],
) -> None:
    text = build(root / "deploy" / folder)
    built: list[Any] = list(yaml.safe_load_all(text))
    names = {one["metadata"]["name"]: one for one in built if one["kind"] == "NetworkPolicy"}
    (worker,) = [
        one
        for one in built
        if one["metadata"]["name"] == "onnxplain-dask-worker" and one["kind"] == "Deployment"
    ]
    pod = worker["spec"]["template"]["spec"]

    assert conform(text) == ""
    assert names.keys() == {f"onnxplain-dask-{name}" for name in policies}
    assert {one["name"] for one in pod["volumes"]} == volumes
    assert {one["name"] for one in pod["containers"][0]["volumeMounts"]} == volumes


def test_the_layer_that_the_readme_shows_names_the_image(
    root: Path, build: Callable[[Path], str], manifests: Path, tmp_path: Path
) -> None:
    readme = (root / "deploy/README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```yaml\n# kustomization.yaml\n(.*?)```", readme, re.DOTALL)
    (tmp_path / "deploy").symlink_to(manifests.parent)
    layer = shown.replace("path/to/deploy/manifests", "./deploy/manifests")
    (tmp_path / "kustomization.yaml").write_text(layer, encoding="utf-8")
    built: list[Any] = list(yaml.safe_load_all(build(tmp_path)))
    (deployment,) = [one for one in built if one["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example/onnxplain:0.1.0"
