"""The list of flaky tests is short, and no entry grows old."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from tools.testing.flaky import Flake, Known, add, begin, of_this_run, problems, read, tell

TODAY = datetime.date(2026, 11, 27)


def listed(days: int) -> Known:
    return Known("tests/test_a.py::test_b", TODAY - datetime.timedelta(days), "a port")


@pytest.mark.parametrize(
    ("entries", "count"),
    [([listed(14)], 0), ([listed(15)], 1), ([listed(0)] * 10, 0), ([listed(0)] * 11, 1)],
)
def test_old_entries_and_long_lists_are_problems(entries: list[Known], count: int) -> None:
    assert len(list(problems(entries, TODAY))) == count


def test_the_end_of_a_run_names_each_flake_its_failure_and_what_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/flaky.toml").write_text(
        '[[test]]\ntest = "test_a"\ndate = 2026-11-27\nknown = "a port is taken"\n'
    )
    begin(tmp_path)
    add(tmp_path, Flake("test_a", "Traceback\nOSError: port"))
    add(tmp_path, Flake("test_b", "Traceback\nMemoryError"))
    tell(tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert "FLAKY test_a: OSError: port (a port is taken)" in lines
    assert "FLAKY test_b: MemoryError (not in tests/flaky.toml: add it, or mend it)" in lines
    begin(tmp_path)
    assert of_this_run(tmp_path) == []


def test_the_committed_list_can_be_read() -> None:
    assert len(read(Path(__file__).parents[3])) <= 10
