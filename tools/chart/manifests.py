"""Writes what the chart renders as plain manifests for kustomize.

Usage: python -m tools.chart.manifests HELM CHART FOLDER

FOLDER has the values.yaml to render with; each object goes to a file of its own beside it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

_NOTE = "# Written by `make manifests` from deploy/helm/onnxplain: change that.\n"

# Of a release, which these are not.
_OF_HELM = re.compile(r"^ *(helm\.sh/chart|app\.kubernetes\.io/managed-by): .*\n", re.MULTILINE)


def manifests(helm: Path, chart: Path, values: Path) -> dict[str, str]:
    """Return the files, by their names, in the order of helm: what others need comes first."""
    command = [str(helm), "template", "onnxplain", str(chart), "--skip-tests"]
    command += ["--values", str(values)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 # ours
    documents = [re.sub(r"^# Source: .*\n", "", one) for one in text.split("---\n")[1:]]
    files = {_name(yaml.safe_load(one)): _NOTE + _OF_HELM.sub("", one) for one in documents}
    return files | {"kustomization.yaml": _kustomization(list(files))}


def _name(manifest: dict[str, Any]) -> str:
    part = manifest["metadata"]["name"].removeprefix("onnxplain")
    return f"{manifest['kind'].lower()}{part}.yaml"


def _kustomization(names: list[str]) -> str:
    head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
    return _NOTE + head + "".join(f"  - {name}\n" for name in names)


def main(helm: Path, chart: Path, folder: Path) -> None:
    """Write the files, and remove those that are no longer rendered."""
    files = manifests(helm, chart, folder / "values.yaml")
    for old in set(folder.glob("*.yaml")) - {folder / name for name in (*files, "values.yaml")}:
        old.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
