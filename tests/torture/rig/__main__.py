"""Torture: mixed load on two replicas and a Redis, with a fault every ten seconds.

    python -m rig run build/torture --minutes 30     run, check, and write the report
    python -m rig check FOLDER                       check a run again
    python -m rig report FOLDER                      write its page of the documents again

A run that is ended by Ctrl-C or SIGTERM is checked and reported as far as it came.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

from rig import checker, client, reference, report
from rig.run import run

_ROOT = Path(__file__).parents[3]


def main() -> int:
    """Run a command; return its exit code."""
    parser = argparse.ArgumentParser(
        "rig", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("run", help="run, check and report")
    made.add_argument("folder", type=Path, help="gets a folder for this run")
    made.add_argument("--minutes", type=float, default=30.0)
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--clients", type=int, default=6)
    made.add_argument("--docs", type=Path, help="where to write the report; default: in the run")
    commands.add_parser("check", help="check a run").add_argument("folder", type=Path)
    told = commands.add_parser("report", help="write the page of the documents")
    told.add_argument("folder", type=Path)
    told.add_argument("--docs", type=Path, default=_ROOT / "docs")
    commands.add_parser("reference").add_argument("folder", type=Path)
    started = commands.add_parser("client")
    started.add_argument("folder", type=Path)
    started.add_argument("role")
    return _execute(parser.parse_args())


def _execute(given: argparse.Namespace) -> int:
    match given.command:
        case "run":
            return _run(given)
        case "check":
            return _check(given.folder, None)
        case "report":
            return _check(given.folder, given.docs)
        case "reference":
            reference.write(given.folder / "reference.jsonl")
        case "client":
            client.Client(given.folder, client.Role(**json.loads(given.role))).run()
    return 0


def _run(given: argparse.Namespace) -> int:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    folder = given.folder / datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    run(folder, 60 * given.minutes, given.seed, given.clients, stop)
    return _check(folder, given.docs or folder)


def _check(folder: Path, docs: Path | None) -> int:
    """Judge a run, and say so; 1 where something is broken."""
    found = checker.History(folder)
    verdicts = checker.check(found)
    for verdict in verdicts:
        print(f"{'holds ' if verdict.holds else 'BROKEN'}  {verdict.rule}: {verdict.found}")
        for example in verdict.examples if not verdict.holds else ():
            print(f"        {example}")
    if docs is not None:
        print(f"report: {report.write(found, verdicts, docs)}")
    return 0 if all(verdict.holds for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
