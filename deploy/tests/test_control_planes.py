"""The minors of Kubernetes that the chart is installed on: what `make test-cluster` builds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDERS = Path(__file__).parents[2] / "tools/kubernetes/control_plane"
MINORS = sorted(path.name for path in FOLDERS.glob("1.*"))


def test_there_are_two_minors_and_the_page_names_them() -> None:
    page = (FOLDERS.parents[2] / "deploy/README.md").read_text(encoding="utf-8")

    assert len(MINORS) >= 2
    assert f"control planes of Kubernetes {' and '.join(MINORS)} (" in " ".join(page.split())


@pytest.mark.parametrize("minor", MINORS)
def test_a_folder_builds_one_version_of_its_minor(minor: str) -> None:
    text = (FOLDERS / minor / "go.mod").read_text(encoding="utf-8")

    (version,) = re.findall(r"^\tk8s\.io/kubernetes v1\.(\S+) // indirect$", text, re.MULTILINE)
    replacements = re.findall(r"^\t(\S+) => (\S+) v0\.(\S+)$", text, re.MULTILINE)

    assert version.split(".")[0] == minor.removeprefix("1.")
    assert replacements
    assert all(old == new for old, new, _ in replacements)
    assert {found for *_, found in replacements} == {version}
