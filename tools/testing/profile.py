"""Profile of the tests: processor seconds by test and fixture, as a pytest plugin and a report.

    pytest -p tools.testing.profile --processor-profile FOLDER ...
    python -m tools.testing.profile FOLDER ...

A test's own time is that of its setup without fixtures, its call and its teardown; time of a
process that goes on in the background counts where it passes, which is mostly the test that waits.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from tools.testing import processor_time

_DEAREST = 20


@dataclass(frozen=True, slots=True)
class Span:
    """One measured part of a run.

    Attributes
    ----------
    kind : str
        "test" or "fixture".
    name : str
        Node of the test, or `file::fixture` with the scope behind it.
    processor, wall : float
        Seconds, without those of spans within.
    """

    kind: str
    name: str
    processor: float
    wall: float


class Recorder:
    """Spans of one process; nested ones are taken from those around them."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8")
        self._within: list[list[float]] = [[0.0, 0.0]]
        self._measuring = 0.0

    def span(self, kind: str, name: str) -> Iterator[None]:
        """Measure what runs until the generator goes on."""
        started = self._processor(), time.monotonic()
        self._within.append([0.0, 0.0])
        try:
            yield
        finally:
            processor = self._processor() - started[0]
            wall = time.monotonic() - started[1]
            inner = self._within.pop()
            self._within[-1][0] += processor
            self._within[-1][1] += wall
            span = Span(kind, name, processor - inner[0], wall - inner[1])
            self._file.write(json.dumps(asdict(span)) + "\n")
            self._file.flush()

    def _processor(self) -> float:
        """Return the processor seconds of this tree without those of measuring them."""
        before = time.thread_time()
        seconds = processor_time.of_this_tree() - self._measuring
        self._measuring += time.thread_time() - before
        return seconds

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Measure one test."""
        return (yield from self._wrapped("test", item.nodeid))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        """Measure one fixture."""
        home = fixturedef.baseid or "plugins"
        name = f"{home}::{fixturedef.argname} ({fixturedef.scope})"
        return (yield from self._wrapped("fixture", name))

    def _wrapped(self, kind: str, name: str) -> Iterator[None]:
        span = self.span(kind, name)
        next(span)
        try:
            return (yield)
        finally:
            next(span, None)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the folder of the records."""
    parser.addoption("--processor-profile", metavar="FOLDER", help="where processor times go")


def pytest_configure(config: pytest.Config) -> None:
    """Record in the processes that run tests."""
    folder = config.getoption("--processor-profile")
    is_side_by_side = getattr(config.option, "dist", "no") != "no"
    if folder and (not is_side_by_side or hasattr(config, "workerinput")):
        path = Path(str(config.rootpath), folder, f"{os.getpid()}.jsonl")
        config.pluginmanager.register(Recorder(path), "processor-profile")


def read(folder: Path) -> list[Span]:
    """Read the spans of all processes of a run."""
    files = sorted(folder.glob("*.jsonl"))
    lines = (line for file in files for line in file.open(encoding="utf-8"))
    return [Span(**json.loads(line)) for line in lines]


def totals(spans: Sequence[Span], key: Callable[[Span], str]) -> list[tuple[str, float, int]]:
    """Sum the processor seconds of spans by a key: name, seconds, number; the dearest first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    count: Counter[str] = Counter()
    for span in spans:
        seconds[key(span)] += span.processor
        count[key(span)] += 1
    dearest = sorted(seconds, key=seconds.__getitem__, reverse=True)
    return [(name, seconds[name], count[name]) for name in dearest]


def report(spans: Sequence[Span]) -> str:
    """Write tables: rooms, files, fixtures, and the dearest tests."""
    tests = [span for span in spans if span.kind == "test"]
    fixtures = [span for span in spans if span.kind == "fixture"]
    every = sum(span.processor for span in spans)
    lines = [f"{len(tests)} tests, {every / 60:.1f} processor minutes"]
    tables = {
        "rooms": totals(spans, lambda s: "/".join(s.name.partition("::")[0].split("/")[:2])),
        "files": totals(tests, lambda s: s.name.partition("::")[0]),
        "fixtures": totals(fixtures, lambda s: s.name),
        "tests": totals(tests, lambda s: s.name),
    }
    for title, rows in tables.items():
        lines += ["", title]
        lines += [f"{sum_:9.2f} s  {n:5}  {name}" for name, sum_, n in rows[:_DEAREST]]
    return "\n".join(lines)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        sys.stdout.write(report(read(Path(each))) + "\n")
