"""Campaigns: every fault is planted in a copy of its own, and looked for by the tests."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tools.mutants import checkout
from tools.mutants.run import Result, RunError, run
from tools.mutants.table import Fault, Table
from tools.testing.changed import reach

_PREFIX = "onnxplain-mutant-"


class Outcome(Enum):
    """What came of a fault."""

    FOUND = "found"
    OVER_TIME = "over time"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, and the test that found it.

    Attributes
    ----------
    fault : Fault
    room : str
    outcome : Outcome
    stage : str
        Last tests that ran: "near", "room", "rest" or "given"; empty where there are none.
    test : str
        Id of the test that found it, or of the one that ran when the time was over.
    seconds : float
        That tests ran on the copy with the fault.
    """

    fault: Fault
    room: str
    outcome: Outcome
    stage: str
    test: str
    seconds: float


@dataclass(frozen=True, slots=True)
class _Look:
    """What came of the stages so far."""

    outcome: Outcome
    stage: str
    test: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run for each fault.

    Attributes
    ----------
    given : sequence of str or None
        Arguments of pytest that are run instead of the room's tests and the rest.
    room_only : bool
        Whether the rest of the suite is left out.
    seconds : float
        Time limit for each fault.
    jobs : int
        Faults at the same time.
    """

    given: Sequence[str] | None = None
    room_only: bool = False
    seconds: float = 1800.0
    jobs: int = 1


class Campaign:
    """Looks for the faults of a table.

    A test that fails without the fault too is no evidence: it is left out from then on.

    Parameters
    ----------
    table : Table
    root : Path
        The checkout; it is only read.
    plan : Plan
    logs : Path
        Folder for the output of each run.

    Attributes
    ----------
    unfit : dict
        Ids of the tests that fail without any fault.
    """

    def __init__(self, table: Table, root: Path, plan: Plan, logs: Path) -> None:
        self.unfit: dict[str, None] = {}
        self._table = table
        self._root = root
        self._plan = plan
        self._logs = logs
        self._stop = threading.Event()
        self._sound: Path | None = None
        self._judging = threading.Lock()

    def findings(self) -> Iterator[Finding]:
        """Try all faults, and give what came of them in the order of the table."""
        self._logs.mkdir(parents=True, exist_ok=True)
        with ExitStack() as held:
            folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix=_PREFIX)))
            self._sound = folder / "sound"
            threads = held.enter_context(ThreadPoolExecutor(self._plan.jobs))
            tried = [threads.submit(self._try, fault) for fault in self._table.faults]
            try:
                for finding in tried:
                    yield finding.result()
            finally:
                self._stop.set()
                threads.shutdown(cancel_futures=True)

    def _try(self, fault: Fault) -> Finding:
        look = _Look(Outcome.MISSED, "", "", 0.0)
        with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
            copy = Path(folder)
            checkout.copy(self._root, copy)
            fault.plant(copy)
            for stage, arguments in self._stages(fault):
                look = self._look(fault.name, copy, stage, arguments, look.seconds)
                if look.outcome is not Outcome.MISSED:
                    break
        room = self._table.room(fault)
        return Finding(fault, room, look.outcome, look.stage, look.test, look.seconds)

    def _stages(self, fault: Fault) -> list[tuple[str, list[str]]]:
        """Name what is run, and the arguments of pytest for it."""
        if self._plan.given is not None:
            return [("given", list(self._plan.given))]
        folders = self._table.tests(fault, self._root)
        near = [str(file.relative_to(self._root)) for file in self._near(fault)]
        within = [("near", near), ("room", [*folders, *_ignored(near)] if folders else [])]
        rest = [] if self._plan.room_only else [("rest", _ignored([*folders, *near]))]
        return [*((stage, arguments) for stage, arguments in within if arguments), *rest]

    def _near(self, fault: Fault) -> list[Path]:
        """Return the test files that import the file of a fault themselves."""
        with self._judging:
            return reach(self._root, [fault.file]).within(0)

    def _look(
        self, name: str, copy: Path, stage: str, arguments: Sequence[str], spent: float
    ) -> _Look:
        """Run tests until one finds the fault, by an evidence that holds."""
        while True:
            out = [f"--{'deselect' if '::' in test else 'ignore'}={test}" for test in self.unfit]
            log, left = self._logs / f"{name}.log", max(0.0, self._plan.seconds - spent)
            found = run(copy, [*arguments, *out], left, log, self._stop)
            spent += found.seconds
            match found.result:
                case Result.PASSED:
                    return _Look(Outcome.MISSED, stage, "", spent)
                case Result.OVER_TIME:
                    return _Look(Outcome.OVER_TIME, stage, found.test, spent)
                case Result.FAILED if self._passes_without(found.test):
                    return _Look(Outcome.FOUND, stage, found.test, spent)
            self.unfit[found.test] = None

    def _passes_without(self, test: str) -> bool:
        """Whether a test passes where there is no fault."""
        with self._judging:
            assert self._sound is not None  # noqa: S101 - made before any fault is tried
            if not self._sound.exists():
                self._sound.mkdir()
                checkout.copy(self._root, self._sound)
            log = self._logs / "sound.log"
            try:
                told = run(self._sound, [test], self._plan.seconds, log, self._stop)
            except RunError:
                # Some ids of parameters cannot be typed: then all of the test's are run.
                whole = test.partition("[")[0]
                told = run(self._sound, [whole], self._plan.seconds, log, self._stop)
            return told.result is Result.PASSED


def _ignored(paths: Sequence[str]) -> list[str]:
    return [f"--ignore={path}" for path in paths]
