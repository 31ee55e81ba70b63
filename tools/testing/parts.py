"""Parts of CI that ask foreign software: each runs where its inputs changed since it last passed.

    python -m tools.testing.parts run [--all] [--begin-within SECONDS] [PART ...]
    python -m tools.testing.parts list

`.ci/parts.toml` names the parts, `.ci/passed.json` the digest of each part's inputs when it last
passed. A run that passes writes the digest; commit it, and CI leaves the part out until an input
changes. In a lane, those that passed longest ago run first; those for which a run has no time are
named.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import math
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from tools import programs

ROOT = Path(__file__).parents[2]
PARTS = Path(".ci/parts.toml")
PASSED = Path(".ci/passed.json")

# Characters of a failed part's output that a run repeats at its end.
_LAST_OUTPUT = 1_500
_PASSED_LOCK = threading.Lock()


class PartsError(Exception):
    """A table of parts that does not fit the checkout."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of CI.

    Attributes
    ----------
    name : str
    guards : str
        What it finds that no other part does.
    programs : tuple of str
        That it needs beside those of `make test`, by the names of tools/programs.py.
    command : tuple of str
    inputs : tuple of str
        Patterns of paths from the root; `*` crosses folders.
    lane : str
        Parts of one lane run one after the other; lanes run side by side, but for "last".
    """

    name: str
    guards: str
    programs: tuple[str, ...]
    command: tuple[str, ...]
    inputs: tuple[str, ...]
    lane: str


def read(root: Path) -> tuple[Part, ...]:
    """Read the parts."""
    document = tomllib.loads((root / PARTS).read_text(encoding="utf-8"))
    groups = document["groups"]
    return tuple(_part(name, entry, groups) for name, entry in document["part"].items())


def _part(name: str, entry: Mapping[str, object], groups: Mapping[str, Sequence[str]]) -> Part:
    inputs: list[str] = []
    for pattern in _strings(entry["inputs"]):
        inputs += groups[pattern[1:]] if pattern.startswith("@") else [pattern]
    needed, command = _strings(entry.get("programs", [])), _strings(entry["command"])
    return Part(name, str(entry["guards"]), needed, command, tuple(inputs), str(entry["lane"]))


def _strings(value: object) -> tuple[str, ...]:
    assert isinstance(value, list)  # noqa: S101 - of our own table
    return tuple(map(str, value))


def digest(root: Path, part: Part) -> str:
    """Digest a part's command and the paths and bytes of its inputs, those that git knows.

    Raises
    ------
    PartsError
        A pattern that fits no file: it would guard nothing.
    """
    files = _files(root)
    total = hashlib.sha256("\0".join(part.command).encode())
    chosen: set[str] = set()
    for pattern in part.inputs:
        fitting = {file for file in files if fnmatchcase(file, pattern)}
        if not fitting:
            raise PartsError(f"{part.name}: no file fits {pattern!r}")
        chosen |= fitting
    for file in sorted(chosen):
        content = hashlib.sha256((root / file).read_bytes()).hexdigest()
        total.update(f"\0{file}\0{content}".encode())
    return total.hexdigest()


def _files(root: Path) -> list[str]:
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others"]
    listed = subprocess.check_output(  # noqa: S603 - ours
        [*command, "--exclude-standard"], cwd=root, text=True
    )
    return [file for file in listed.split("\0") if file and (root / file).is_file()]


def passed(root: Path) -> dict[str, dict[str, str]]:
    """Return digest and date by part, as committed."""
    path = root / PASSED
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def is_stale(root: Path, part: Part) -> bool:
    """Whether inputs changed since the part last passed."""
    return passed(root).get(part.name, {}).get("digest") != digest(root, part)


class Outcome(Enum):
    """End of a part in a run."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_BEGUN = "not begun"


def run(root: Path, parts: Sequence[Part], begin_within: float = math.inf) -> Mapping[str, Outcome]:
    """Run parts by their lanes; returns the outcomes by name.

    Parameters
    ----------
    begin_within : float
        Seconds from now after which no part begins.
    """
    programs.install(sorted({program for part in parts for program in part.programs}))
    lanes = dict.fromkeys(part.lane for part in parts if part.lane != "last")
    run_lane = partial(_run_lane, root, parts, time.monotonic() + begin_within)
    with ThreadPoolExecutor(max(1, len(lanes))) as threads:
        ended = [*threads.map(run_lane, lanes)]
    ended.append(run_lane("last"))
    return {name: outcome for lane in ended for name, outcome in lane.items()}


def _run_lane(
    root: Path, parts: Sequence[Part], deadline: float, lane: str
) -> Mapping[str, Outcome]:
    return {part.name: _run_part(root, part, deadline) for part in parts if part.lane == lane}


def _run_part(root: Path, part: Part, deadline: float) -> Outcome:
    """Run a part, and keep its digest where it passes."""
    if time.monotonic() >= deadline:
        return Outcome.NOT_BEGUN
    before = digest(root, part)
    _tell(f"part {part.name}: {' '.join(part.command)}")
    begin = time.monotonic()
    code = _run_command(root, part)
    _tell(f"part {part.name}: {'failed' if code else 'passed'} ({time.monotonic() - begin:.0f} s)")
    if not code and digest(root, part) == before:
        _keep(root, part.name, before)
    return Outcome.FAILED if code else Outcome.PASSED


def _run_command(root: Path, part: Part) -> int:
    """Run a part's command; its output goes to standard output and to a file."""
    path = _output_path(root, part.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        path.open("w", encoding="utf-8") as kept,
        subprocess.Popen(  # noqa: S603 - ours
            part.command,
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        # A line at a time: lanes write side by side.
        for line in process.stdout or ():
            kept.write(line)
            sys.stdout.write(line)
            sys.stdout.flush()
    return process.returncode


def _output_path(root: Path, name: str) -> Path:
    return root / "build" / "parts" / f"{name}.txt"


def _last_output(root: Path, name: str) -> str:
    """Return the end of what a part wrote, from the start of a line."""
    text = _output_path(root, name).read_text(encoding="utf-8")
    return text[-_LAST_OUTPUT:].partition("\n")[2] if len(text) > _LAST_OUTPUT else text


def _keep(root: Path, name: str, digest_: str) -> None:
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    with _PASSED_LOCK:
        record = {**passed(root), name: {"digest": digest_, "date": today}}
        text = json.dumps(dict(sorted(record.items())), indent=2)
        (root / PASSED).write_text(f"{text}\n", encoding="utf-8")


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Run the command line."""
    asked = _parser().parse_args(arguments)
    parts = read(root)
    names = {part.name for part in parts}
    if unknown := set(asked.parts) - names:
        raise SystemExit(
            f"no part is named {', '.join(sorted(unknown))}; there are {sorted(names)}"
        )
    chosen = [part for part in parts if part.name in (set(asked.parts) or names)]
    stale = [part for part in chosen if is_stale(root, part)]
    if asked.command == "list":
        for part in chosen:
            _tell(f"{'stale ' if part in stale else 'passed'}  {part.name:16}  {part.guards}")
        return 0
    for part in chosen:
        if part not in stale and not asked.all:
            date = passed(root)[part.name]["date"]
            _tell(f"part {part.name}: left out, passed on these inputs on {date}")
    last = passed(root)
    due = sorted(
        chosen if asked.all else stale, key=lambda part: last.get(part.name, {}).get("date", "")
    )
    outcomes = run(root, due, asked.begin_within)
    by_outcome = {
        outcome: [name for name, own in outcomes.items() if own is outcome] for outcome in Outcome
    }
    for name in by_outcome[Outcome.FAILED]:
        _tell(f"part {name} failed; the end of {_output_path(Path(), name)}:")
        _tell(_last_output(root, name))
    failed, left = by_outcome[Outcome.FAILED], by_outcome[Outcome.NOT_BEGUN]
    if left:
        _tell(f"NOT RUN, no time was left: {', '.join(left)}; they stay due")
    _tell(f"failed parts: {', '.join(failed)}" if failed else "all parts that ran passed")
    return int(bool(failed))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.testing.parts", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("command", choices=["run", "list"])
    parser.add_argument("parts", nargs="*", metavar="PART", help="these parts; all unless given")
    parser.add_argument("--all", action="store_true", help="run parts that passed, too")
    parser.add_argument(
        "--begin-within",
        type=float,
        default=math.inf,
        metavar="SECONDS",
        help="begin no part later than this",
    )
    return parser


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
