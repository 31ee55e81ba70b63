"""Table of docs/clients.md: the results of every client in every case."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "clients.md"
BEGIN, END = "<!-- By clients/tests/table.py -->\n", "<!-- End -->\n"

sys.path += [str(HERE.parents[1] / "tests" / "conformance")]

from harness import (  # noqa: E402 - the folder is known from here on
    CASES,
    COMMAND_LINE,
    CURL,
    PYTHON,
    Runner,
    ask,
    fault,
    serving,
)
from registry import registered  # noqa: E402 - likewise


def main() -> None:
    """Ask; write nothing where an answer is wrong."""
    runners = [PYTHON, *registered().values(), CURL, COMMAND_LINE]
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        answers = {
            runner.name: ask(runner, server, Path(folder) / runner.name, [*CASES])
            for runner in runners
        }
    wrong = [
        f"{runner.name}, {name}: {told}"
        for runner in runners
        for name in CASES
        if name not in runner.lacks and (told := fault(answers[runner.name][name], CASES[name]))
    ]
    if wrong:
        sys.exit("\n".join(wrong))
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + table(runners, answers) + END + rest.partition(END)[2])


def table(runners: Sequence[Runner], answers: Mapping[str, Mapping[str, Any]]) -> str:
    """Write a row for each case."""
    rows = [["Case", *(runner.name for runner in runners), "What it shows"]]
    rows.append(["---", *("---" for _ in runners), "---"])
    rows += [list(_row(name, runners, answers)) for name in CASES]
    return "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n"


def _row(
    name: str, runners: Sequence[Runner], answers: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    yield f"`{name}`"
    for runner in runners:
        yield "–" if "unsupported" in answers[runner.name][name] else "✓"
    yield CASES[name]["description"]


if __name__ == "__main__":
    main()
