"""Summary of programs that a run of tests misses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.missing_programs import DEMAND

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(tmp_path: Path):
    """Run a test that needs promtool where no folder of programs holds it."""
    (tmp_path / "conftest.py").write_text(
        "from tools import programs\nprograms._SYSTEM_FOLDERS = ()\n"
    )
    (tmp_path / "test_it.py").write_text("def test_it(program):\n    program('promtool')\n")

    def run(**variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTEST")
        }
        environment.pop(DEMAND, None)
        environment |= {"PATH": str(tmp_path), "PYTHONPATH": str(ROOT), **variables}
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        command = [sys.executable, "-m", "pytest", "-ra", "-p", "tools.missing_programs"]
        return subprocess.run(
            [*command, "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_last_lines_name_the_program_and_the_command_that_installs_it(run) -> None:
    ended = run()

    *_, told, counts = ended.stdout.strip().splitlines()
    assert told == "promtool: 1 test; to run them, as root: apt-get install prometheus"
    assert "1 skipped" in counts
    assert ended.returncode == 0


def test_a_program_that_is_built_is_named_with_the_target_that_builds_it(run, tmp_path) -> None:
    (tmp_path / "conftest.py").write_text(
        "from tools import programs\nprograms.BUILT['rclone'] = ('nowhere', 'make stores')\n"
    )
    (tmp_path / "test_it.py").write_text("def test_it(program):\n    program('rclone')\n")

    *_, told, _ = run().stdout.strip().splitlines()

    assert told == "rclone: 1 test; to run them: make stores"


@pytest.mark.parametrize(
    ("program", "demand", "code"),
    [("promtool", "all", 1), ("promtool", "packages", 1), ("rclone", "packages", 0)],
)
def test_a_program_that_is_demanded_and_missing_fails_its_test(
    run, tmp_path, program: str, demand: str, code: int
) -> None:
    (tmp_path / "conftest.py").write_text(
        "from tools import programs\nprograms._SYSTEM_FOLDERS = ()\n"
        "programs.BUILT['rclone'] = ('nowhere', 'make stores')\n"
    )
    (tmp_path / "test_it.py").write_text(f"def test_it(program):\n    program({program!r})\n")

    ended = run(**{DEMAND: demand})

    assert f"program not found: {program}" in ended.stdout
    assert ended.returncode == code
