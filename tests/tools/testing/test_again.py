"""A failed test runs again, alone, twice: a flake is named and goes on, a fault ends the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.testing import again, flaky

ROOT = Path(__file__).parents[3]

FLAKE = """
import os
from pathlib import Path

def test_that_depends_on_the_moment():
    seen = Path("seen")
    seen.write_text(seen.read_text() + "." if seen.exists() else ".")
    assert len(seen.read_text()) % 3 != 1, "the first of three"
"""
FAULT = "def test_of_a_fault():\n    assert 1 == 2\n"
SOUND = "def test_of_sound_code():\n    assert True\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one sound test and no list of flaky ones."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_sound.py").write_text(SOUND)
    return tmp_path


def run(project: Path) -> int:
    return again.main(["-q", "-p", "xdist"], project)


def test_a_flake_is_named_with_its_first_failure_and_does_not_end_the_run(project: Path) -> None:
    (project / "test_flake.py").write_text(FLAKE)

    assert run(project) == 0

    (flake,) = flaky.of_this_run(project)
    assert flake.test == "test_flake.py::test_that_depends_on_the_moment"
    assert "the first of three" in flake.failure


def test_a_fault_ends_the_run_and_is_no_flake(project: Path) -> None:
    (project / "test_fault.py").write_text(FAULT)
    assert run(project) == 1
    assert flaky.of_this_run(project) == []


def test_a_run_has_at_most_three_flakes(project: Path) -> None:
    for number in range(flaky.LIMIT):
        flaky.add(project, flaky.Flake(f"test_{number}", "by chance"))
    (project / "test_flake.py").write_text(FLAKE)
    assert run(project) == 1
