"""Runs of pytest: how they end, what their output says, and that nothing outlives them."""

import os
import select
import subprocess
import threading
from pathlib import Path

import pytest

from tools.mutants import checkout
from tools.mutants.run import Result, Run, RunError, read, run

WAITING = """
import subprocess


def test_waits_for_what_ignores_interrupts() -> None:
    command = "trap '' INT; echo $$ > pid.new; mv pid.new pid; exec sleep 1000"
    subprocess.Popen(["sh", "-c", command]).wait()
"""
PASSED = """
tests/a/test_x.py::test_one PASSED                                       [ 50%]
tests/a/test_x.py::test_two[1 - 2] """


@pytest.mark.parametrize(
    ("line", "test"),
    [
        ("FAILED tests/a/test_x.py::test_two - assert 1 == 2", "tests/a/test_x.py::test_two"),
        ("FAILED tests/a/test_x.py::test_two[a b]", "tests/a/test_x.py::test_two[a b]"),
        ("ERROR tests/a/test_x.py - ImportError: gone", "tests/a/test_x.py"),
        ("ERROR    server:logs.py:3 gone\nFAILED tests/y.py::test_z", "tests/y.py::test_z"),
    ],
)
def test_first_failure_is_read_from_the_output(tmp_path: Path, line: str, test: str) -> None:
    log = tmp_path / "log"
    log.write_text(f"{PASSED}\n{line}\n", encoding="utf-8")
    assert read(log, 1, 2.5) == Run(Result.FAILED, test, 2.5)


@pytest.mark.parametrize("code", [0, 5])
def test_run_without_failure_passes(tmp_path: Path, code: int) -> None:
    (tmp_path / "log").write_text(PASSED, encoding="utf-8")
    assert read(tmp_path / "log", code, 2.5) == Run(Result.PASSED, "", 2.5)


def test_run_that_is_over_time_names_the_test_that_ran(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(PASSED, encoding="utf-8")
    found = read(tmp_path / "log", None, 9.0)
    assert found == Run(Result.OVER_TIME, "tests/a/test_x.py::test_two[1 - 2]", 9.0)


@pytest.mark.parametrize("code", [1, 3, 4])
def test_run_that_names_no_failed_test_says_nothing(tmp_path: Path, code: int) -> None:
    (tmp_path / "log").write_text("Killed", encoding="utf-8")
    with pytest.raises(RunError, match=f"code {code}, and names no test: Killed"):
        read(tmp_path / "log", code, 0.1)


def test_nothing_that_a_test_started_outlives_the_run(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    copy, stop, mark = tmp_path / "copy", threading.Event(), tmp_path / "copy/pid"
    copy.mkdir()
    checkout.copy(toy, copy)
    (copy / "test_waits.py").write_text(WAITING, encoding="utf-8")
    handles: list[int] = []

    def stop_once_it_waits() -> None:
        while not stop.wait(0.05):
            if mark.exists():
                handles.append(os.pidfd_open(int(mark.read_text())))
                stop.set()

    watcher = threading.Thread(target=stop_once_it_waits)
    watcher.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(copy, ["test_waits.py"], 600, tmp_path / "log", stop)
    finally:
        stop.set()
        watcher.join()
    (handle,) = handles
    try:
        assert select.select([handle], [], [], 30)[0] == [handle]
    finally:
        os.close(handle)


def test_copy_has_changes_that_are_not_committed_and_compiled_files_with_their_times(
    toy: Path, tmp_path: Path
) -> None:
    root, copy = tmp_path / "root", tmp_path / "copy"
    subprocess.run(["git", "clone", "--quiet", toy, root], check=True)
    for name in ("service/shop/new.py", "service/shop/__pycache__/price.nbi", "build/large"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("new", encoding="utf-8")
        os.utime(root / name, (1_000_000, 1_000_000))
    (root / ".gitignore").write_text("/build/\n__pycache__/\n", encoding="utf-8")
    copy.mkdir()
    checkout.copy(root, copy)
    for name in ("service/shop/new.py", "service/shop/__pycache__/price.nbi"):
        assert (copy / name).stat().st_mtime == 1_000_000
    assert not (copy / "build").exists()


def test_copy_leaves_out_the_tests_of_the_tool(toy: Path, tmp_path: Path) -> None:
    root, copy = tmp_path / "root", tmp_path / "copy"
    subprocess.run(["git", "clone", "--quiet", toy, root], check=True)
    for name in ("tests/tools/mutants/test_table.py", "tests/tools/test_other.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("", encoding="utf-8")
    copy.mkdir()
    checkout.copy(root, copy)
    assert (copy / "tests/tools/test_other.py").exists()
    assert not (copy / "tests/tools/mutants").exists()
