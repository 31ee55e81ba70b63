"""Repetition of failed tests: each runs again, alone, twice; one that passes both times is FLAKY.

    python -m tools.testing.again ARGUMENTS OF PYTEST

The run fails where a test fails again, and where more than three tests of a run were flaky.
pytest-rerunfailures was looked at: it repeats a test at once, beside those of other workers, and
takes one pass for enough.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.testing import flaky

_ROOT = Path(__file__).parents[2]
_FOLDER = Path("build/again")
_TIMES = 2
_TESTS_FAILED = 1


class FailureLog:
    """Plugin that writes which tests failed, and how, when the run ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failures: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the first failure of a test."""
        if report.failed:
            self._failures.setdefault(report.nodeid, report.longreprtext)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what could not be collected."""
        if report.failed:
            self._failures.setdefault(report.nodeid, report.longreprtext)

    def pytest_sessionfinish(self) -> None:
        """Write the failures."""
        self._path.write_text(json.dumps(self._failures), encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the file of the failures."""
    parser.addoption("--failure-log", metavar="FILE", help="where the failed tests are written")


def pytest_configure(config: pytest.Config) -> None:
    """Log in the process that hears of all tests."""
    path = config.getoption("--failure-log")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailureLog(Path(path)), "failure-log")


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of pytest in a checkout with a cache of their own, so that runs side by side are apart.

    Attributes
    ----------
    root : Path
    arguments : sequence of str
        Of the first run; the others take them too.
    folder : Path
    """

    root: Path
    arguments: Sequence[str]
    folder: Path

    def first(self) -> tuple[int, Mapping[str, str]]:
        """Run all; returns the exit code, and the text of its failure by test."""
        log = self.folder / "failures.json"
        code = self._pytest("-p", "tools.testing.again", f"--failure-log={log}")
        failures = json.loads(log.read_text(encoding="utf-8")) if log.exists() else {}
        return code, failures

    def passes_alone(self, test: str) -> bool:
        """Whether a test passes each time that it runs alone."""
        return all(self._alone(test) for _ in range(_TIMES))

    def _alone(self, test: str) -> bool:
        """Run one test, chosen by pytest's own cache of failures."""
        chosen = self.folder / "cache/v/cache/lastfailed"
        chosen.parent.mkdir(parents=True, exist_ok=True)
        chosen.write_text(json.dumps({test: True}), encoding="utf-8")
        options = ("--last-failed", "--last-failed-no-failures=none", "--numprocesses=0")
        return self._pytest(*options) == 0

    def _pytest(self, *options: str) -> int:
        cache = ["-o", f"cache_dir={self.folder / 'cache'}"]
        command = [sys.executable, "-m", "pytest", *cache, *self.arguments, *options]
        return subprocess.run(command, cwd=self.root, check=False).returncode  # noqa: S603 - ours


def main(arguments: Sequence[str], root: Path = _ROOT) -> int:
    """Run pytest, and what fails again; returns the exit code of the whole."""
    (root / _FOLDER).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root / _FOLDER) as folder:
        runs = _Runs(root, arguments, Path(folder))
        code, failures = runs.first()
        if code != _TESTS_FAILED or not failures:
            return code
        room = max(0, flaky.LIMIT - len(flaky.of_this_run(root)))
        if len(failures) > room:
            _tell(f"{len(failures)} tests failed; at most {room} are run again.")
            return code
        again = [test for test in failures if not runs.passes_alone(test)]
    for test in failures.keys() - set(again):
        flaky.add(root, flaky.Flake(test, failures[test]))
    for test in again:
        _tell(f"FAILED again, alone: {test}")
    return code if again else 0


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    result = main(sys.argv[1:])
    flaky.tell(_ROOT)
    sys.exit(result)
