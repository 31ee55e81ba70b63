"""Flaky tests: those that this run met, and the committed list of those that are known.

python -m tools.testing.flaky begin    # forget those of the last run
python -m tools.testing.flaky tell     # name those of this run, at its end
python -m tools.testing.flaky check    # the list is short, and no entry is old
"""

from __future__ import annotations

import datetime
import json
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

LIMIT = 3
"""Flaky tests that a run may have."""

_ROOT = Path(__file__).parents[2]
_RUN = Path("build/flaky.jsonl")
_LIST = Path("tests/flaky.toml")
_DAYS = 14
_ENTRIES = 10


@dataclass(frozen=True, slots=True)
class Flake:
    """A test that failed in a run, and passed twice alone.

    Attributes
    ----------
    test : str
        Its node id.
    failure : str
        Its first failure, as pytest tells it.
    """

    test: str
    failure: str


@dataclass(frozen=True, slots=True)
class Known:
    """An entry of the list.

    Attributes
    ----------
    test : str
    date : date
        When it was listed.
    known : str
        What is known of the cause.
    """

    test: str
    date: datetime.date
    known: str


def begin(root: Path) -> None:
    """Forget the flaky tests of the last run."""
    (root / _RUN).unlink(missing_ok=True)


def add(root: Path, flake: Flake) -> None:
    """Note a flaky test of this run."""
    path = root / _RUN
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(flake)) + "\n")


def of_this_run(root: Path) -> list[Flake]:
    """Return the flaky tests since `begin`."""
    path = root / _RUN
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Flake(**json.loads(line)) for line in lines]


def tell(root: Path) -> None:
    """Write the flaky tests of this run, each with its first failure and what is known of it."""
    known = {entry.test: entry.known for entry in read(root)}
    for flake in of_this_run(root):
        cause = known.get(flake.test, f"not in {_LIST}: add it, or mend it")
        last = (flake.failure.strip().splitlines() or ["no text"])[-1]
        sys.stdout.write(f"{flake.failure}\nFLAKY {flake.test}: {last} ({cause})\n")


def read(root: Path) -> list[Known]:
    """Read the list."""
    document = tomllib.loads((root / _LIST).read_text(encoding="utf-8"))
    return [Known(**entry) for entry in document.get("test", [])]


def problems(entries: Sequence[Known], today: datetime.date) -> Iterator[str]:
    """Say what is wrong with the list."""
    if len(entries) > _ENTRIES:
        yield f"{len(entries)} tests are listed as flaky; at most {_ENTRIES} may be"
    for entry in entries:
        if (age := (today - entry.date).days) > _DAYS:
            yield f"{entry.test} is listed as flaky for {age} days; mend it within {_DAYS}"


def main(command: str) -> int:
    """Run a command; returns its exit code."""
    match command:
        case "begin":
            begin(_ROOT)
        case "tell":
            tell(_ROOT)
        case "check":
            today = datetime.datetime.now(tz=datetime.UTC).date()
            found = list(problems(read(_ROOT), today))
            sys.stderr.write("".join(f"{_LIST}: {problem}\n" for problem in found))
            return int(bool(found))
        case _:
            sys.stderr.write(f"{__doc__}\n")
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
