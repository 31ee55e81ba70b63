"""Circles of imports between files; the linter looks for those between folders."""

from __future__ import annotations

import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest


def circle(*packages: str) -> list[str]:
    """Return files of which each imports the one before, the last the first; empty without any."""
    graph = grimp.build_graph(*packages, cache_dir=None)
    files = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    try:
        TopologicalSorter(files).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circle("onnxplain_server", "onnxplain") == []


def test_a_circle_of_late_imports_and_of_types_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "planted"
    folder.mkdir()
    for name, text in {
        "__init__": "",
        "early": "import planted.late",
        "late": "def call():\n    from planted import typed",
        "typed": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import planted.early",
    }.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    assert {*circle("planted")} == {"planted.early", "planted.late", "planted.typed"}
