"""Faults planted in the product code, one at a time, and the tests that find them.

Usage: python -m tools.mutants [--only NAME ...] [--tests ARGUMENTS] [--room-only]
                               [--jobs N] [--seconds N]

Each fault of faults.toml is planted in a copy of the checkout, never in the checkout itself. The
tests that import its file run first; where they pass, the other tests of its room, and then the
rest of what plain `pytest` runs. A table goes to standard output, and everything to
build/mutants.json. The exit code is 0 if every fault is found.
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.mutants import checkout
from tools.mutants.campaign import Campaign, Finding, Outcome, Plan
from tools.mutants.table import TableError, read

ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str]) -> int:
    """Run a campaign."""
    asked = _parser().parse_args(arguments)
    given = None if asked.tests is None else shlex.split(asked.tests)
    plan = Plan(given, asked.room_only, asked.seconds, asked.jobs)
    try:
        whole = read()
        whole.check(ROOT)
        table = whole.chosen(asked.only)
    except TableError as error:
        sys.stderr.write(f"mutants: {error}\n")
        return 2
    # Else what was started would outlive this process. A process in the background ignores
    # interrupts, and pytest would inherit that.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    campaign = Campaign(table, ROOT, plan, ROOT / "build/mutants")
    findings: list[Finding] = []
    width = max(len(fault.name) for fault in table.faults)
    _tell(f"{'fault':{width}}  {'outcome':9}  {'stage':5}  seconds  test")
    for finding in campaign.findings():
        findings.append(finding)
        _tell(
            f"{finding.fault.name:{width}}  {finding.outcome.value:9}  {finding.stage:5}  "
            f"{finding.seconds:7.1f}  {finding.test}"
        )
        _write(findings, list(campaign.unfit))
    _tell(_summary(findings, list(campaign.unfit)))
    return 0 if all(finding.outcome is Outcome.FOUND for finding in findings) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these faults")
    parser.add_argument(
        "--tests", metavar="ARGUMENTS", help="of pytest, in one word: run these tests instead"
    )
    parser.add_argument(
        "--room-only",
        action="store_true",
        help="only tests near a fault and of its room",
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="faults at the same time")
    parser.add_argument(
        "--seconds", type=float, default=1800.0, metavar="N", help="time limit for each fault"
    )
    return parser


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _summary(findings: Sequence[Finding], unfit: Sequence[str]) -> str:
    lines = []
    for outcome in Outcome:
        named = [finding.fault.name for finding in findings if finding.outcome is outcome]
        told = f": {', '.join(named)}" if named and outcome is not Outcome.FOUND else ""
        lines.append(f"{outcome.value}: {len(named)} of {len(findings)}{told}")
    lines += [f"fails without any fault, and was left out: {test}" for test in unfit]
    return "\n".join(["", *lines])


def _write(findings: Sequence[Finding], unfit: Sequence[str]) -> None:
    """Write all findings so far, so that a campaign that is ended early is not lost."""
    document = {
        "commit": checkout.commit(ROOT),
        "unfit": unfit,
        "faults": [_entry(finding) for finding in findings],
    }
    file = ROOT / "build/mutants.json"
    file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _entry(finding: Finding) -> dict[str, object]:
    fault = finding.fault
    return {
        "name": fault.name,
        "file": fault.file,
        "room": finding.room,
        "kind": fault.kind,
        "effect": fault.effect,
        "outcome": finding.outcome.value,
        "stage": finding.stage,
        "test": finding.test,
        "seconds": round(finding.seconds, 1),
    }


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
