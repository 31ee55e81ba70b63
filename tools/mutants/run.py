"""Runs of pytest in a copy of the checkout, each with a time limit."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tools.mutants.checkout import scripts

_LOOK_SECONDS = 0.2
_LAST_SECONDS = 30.0
"""Time for pytest to end its servers, once interrupted."""

_PASSED = {0, 5}
_FAILURES = {1, 2}
"""Exit codes of pytest: 2 is an error of collecting, 5 that no test was selected."""

_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+\.py(?:::.*?)?)(?: - .*)?$", re.MULTILINE)
_STARTED = re.compile(r"^(\S+\.py::.*?)(?: (?:PASSED|FAILED|ERROR|SKIPPED|XFAIL)\b.*)?$")


class Result(Enum):
    """How a run ended."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    OVER_TIME = "OVER_TIME"


class RunError(Exception):
    """A run that says nothing of the tests: pytest was used wrongly, or failed itself."""


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of a run.

    Attributes
    ----------
    result : Result
    test : str
        Id of the first test that failed, or of the one that ran when the time was over; may be
        empty.
    seconds : float
    """

    result: Result
    test: str
    seconds: float


def run(
    checkout: Path, arguments: Sequence[str], seconds: float, log: Path, stop: threading.Event
) -> Run:
    """Run pytest until the first failure.

    Parameters
    ----------
    checkout : Path
        A copy.
    arguments : sequence of str
    seconds : float
        Time limit.
    log : Path
        Where its output goes.
    stop : Event
        Ends the run when it is set; KeyboardInterrupt is raised then.

    Raises
    ------
    RunError
    """
    # Verbose: the output then names a test before it runs.
    command = [str(scripts(checkout) / "pytest"), "-x", "-v", "-p", "no:cacheprovider"]
    environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    begin = time.monotonic()
    with (
        log.open("w", encoding="utf-8") as output,
        subprocess.Popen(  # noqa: S603 - ours
            [*command, *arguments],
            cwd=checkout,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            in_time = _wait(process, begin + seconds, stop)
        finally:
            _end(process)
    if stop.is_set():
        raise KeyboardInterrupt
    return read(log, process.returncode if in_time else None, time.monotonic() - begin)


def read(log: Path, code: int | None, seconds: float) -> Run:
    """Read how a run ended.

    Parameters
    ----------
    log : Path
        Output of pytest.
    code : int or None
        Its exit code; None where the time was over.
    seconds : float

    Raises
    ------
    RunError
    """
    text = log.read_text(encoding="utf-8", errors="replace")
    if code is None:
        started = [found for line in text.splitlines() if (found := _STARTED.match(line.rstrip()))]
        return Run(Result.OVER_TIME, started[-1][1] if started else "", seconds)
    if code in _PASSED:
        return Run(Result.PASSED, "", seconds)
    if code not in _FAILURES or (failed := _FAILED.search(text)) is None:
        raise RunError(f"pytest ended with code {code}, and names no test: {text[-1000:]}")
    return Run(Result.FAILED, failed[1], seconds)


def _wait(process: subprocess.Popen[bytes], end: float, stop: threading.Event) -> bool:
    """Wait for a process; whether it ended in time, and before it was to stop."""
    while time.monotonic() < end and not stop.is_set():
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_SECONDS)
            return True
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started: by an interrupt first, so that it can tidy up."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LAST_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
