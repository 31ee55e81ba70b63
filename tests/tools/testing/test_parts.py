"""Parts of CI run where their inputs changed since they last passed, and only then."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.testing import parts

ROOT = Path(__file__).parents[3]

TABLE = f"""
[groups]
locks = ["locks/*"]

[part.store]
guards = "a store"
command = ["{sys.executable}", "-c", "open('runs', 'a').write('.'); import broken"]
inputs = ["@locks", "store/*"]
lane = "one"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout with one part, whose command counts its runs and imports a module."""
    for path, content in {
        ".ci/parts.toml": TABLE,
        ".gitignore": "__pycache__/\nbuild/\nruns\n",
        "locks/a/lock.txt": "1",
        "store/code.py": "",
        "other.py": "",
        "broken.py": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def runs(project: Path, *options: str) -> int:
    parts.main(["run", *options], project)
    return len((project / "runs").read_text())


@pytest.mark.parametrize(
    ("path", "is_input"),
    [("locks/a/lock.txt", True), ("store/new.py", True), ("other.py", False)],
)
def test_a_part_that_passed_runs_again_where_an_input_changed(
    project: Path, path: str, is_input: bool
) -> None:
    assert runs(project) == 1
    assert runs(project) == 1
    (project / path).write_text("2")
    assert runs(project) == 1 + is_input
    assert runs(project, "--all") == 2 + is_input


def test_a_part_that_fails_is_named_and_runs_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "broken.py").write_text("raise SystemExit('the store is shut')")
    assert parts.main(["run"], project) == 1
    told, end = capsys.readouterr().out.split(
        "part store failed; the end of build/parts/store.txt:"
    )
    assert "the store is shut" in told
    assert "the store is shut" in end
    assert "failed parts: store" in end
    assert runs(project) == 2


def test_a_part_without_time_is_named_and_stays_due(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parts.main(["run", "--begin-within", "0"], project) == 0
    assert "NOT RUN, no time was left: store" in capsys.readouterr().out
    assert not (project / "runs").exists()
    assert runs(project) == 1


def test_the_part_that_passed_longest_ago_runs_first(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = TABLE.partition("[part.store]")[2]
    (project / ".ci/parts.toml").write_text(f"{TABLE}\n[part.older]{own}\n[part.never]{own}")
    record = {name: {"digest": "", "date": date} for name, date in (("store", "2"), ("older", "1"))}
    (project / ".ci/passed.json").write_text(json.dumps(record))
    parts.main(["run"], project)
    lines = capsys.readouterr().out.splitlines()
    passed = [line.split()[1].rstrip(":") for line in lines if "passed (" in line]
    assert passed == ["never", "older", "store"]


def test_a_pattern_that_fits_no_file_is_refused(project: Path) -> None:
    (project / "store/code.py").unlink()
    with pytest.raises(parts.PartsError, match=r"store: no file fits 'store/\*'"):
        parts.main(["list"], project)


def test_the_parts_of_this_checkout_name_files_that_are_there() -> None:
    assert all(parts.digest(ROOT, part) for part in parts.read(ROOT))


def test_contributing_says_which_part_guards_what() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert all(f"| `{part.name}` | {part.guards} |" in page for part in parts.read(ROOT))
