"""Campaigns on a small checkout: which faults are found, by which tests, and on what evidence."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tools.mutants.campaign import Campaign, Finding, Outcome, Plan
from tools.mutants.table import Fault, Table
from tools.testing.changed import Reach

ROOMS = {"service/shop/": ["tests/price"]}
ANYWAY = "tests/price/test_total.py::test_fails_without_any_fault"
FAULTS = tuple(
    Fault(name, "service/shop/price.py", "a kind", "An effect.", text, replacement)
    for name, text, replacement in (
        ("sign", "price * count", "-price * count"),
        ("label", 'return "price"', 'return "cost"'),
        ("currency", 'return "EUR"', 'return "USD"'),
    )
)


@pytest.fixture(scope="module")
def campaign(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return Campaign(Table(FAULTS, ROOMS), toy, Plan(), tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="module")
def findings(campaign: Campaign) -> dict[str, Finding]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        return {found.fault.name: found for found in campaign.findings()}


def summary(finding: Finding) -> tuple[Outcome, str, str]:
    return finding.outcome, finding.stage, finding.test


def test_fault_is_found_by_a_test_of_its_room(findings: dict[str, Finding]) -> None:
    test = "tests/price/test_total.py::test_price_times_count"
    assert summary(findings["sign"]) == (Outcome.FOUND, "room", test)


def test_fault_that_its_room_misses_is_found_by_the_rest(findings: dict[str, Finding]) -> None:
    test = "tests/label/test_label.py::test_label"
    assert summary(findings["label"]) == (Outcome.FOUND, "rest", test)


def test_fault_that_no_test_finds_is_missed(findings: dict[str, Finding]) -> None:
    assert summary(findings["currency"]) == (Outcome.MISSED, "rest", "")


@pytest.mark.usefixtures("findings")
def test_test_that_fails_without_any_fault_is_no_evidence(campaign: Campaign) -> None:
    assert list(campaign.unfit) == [ANYWAY]


@pytest.mark.usefixtures("findings")
def test_checkout_stays_as_it_was(toy: Path) -> None:
    command = ["git", "status", "--porcelain", "--ignored"]
    told = subprocess.check_output(command, cwd=toy, text=True).splitlines()
    assert told
    assert [line for line in told if line[:2] != "A "] == []


def test_tests_that_import_the_file_of_a_fault_run_first_and_once(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    near = Reach({toy / "tests/label/test_label.py": 0, toy / "tests/price/test_total.py": 1}, ())
    monkeypatch.setattr("tools.mutants.campaign.reach", lambda _root, _files: near)
    found = Campaign(Table(FAULTS[1:], ROOMS), toy, Plan(), tmp_path).findings()

    label, currency = map(summary, found)
    assert label == (Outcome.FOUND, "near", "tests/label/test_label.py::test_label")
    assert currency == (Outcome.MISSED, "rest", "")


def test_fault_that_hangs_is_over_time(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    endless = replace(FAULTS[1], replacement='__import__("time").sleep(600)')
    plan = Plan(given=["tests/label"], seconds=3)
    (found,) = Campaign(Table((endless,), ROOMS), toy, plan, tmp_path).findings()
    assert (found.outcome, found.stage) == (Outcome.OVER_TIME, "given")


def test_room_without_tests_misses_its_fault_where_the_rest_is_left_out(
    toy: Path, tmp_path: Path
) -> None:
    table = Table(FAULTS[:1], {"service/": ["tests/gone"]})
    (found,) = Campaign(table, toy, Plan(room_only=True), tmp_path).findings()
    assert summary(found) == (Outcome.MISSED, "", "")
