"""Progress of a computation, and a progress bar for terminals and notebooks."""

from __future__ import annotations

import math
import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TextIO, TypeAlias

ProgressCallback: TypeAlias = Callable[[float, float], object]
"""Called with the rows done and the rows planned."""

_BAR_WIDTH = 30
_MEASURED_SECONDS = 10.0
_LEAST_SECONDS = 1.0
_drawing = threading.Lock()


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a computation.

    Attributes
    ----------
    done : float
        Rows predicted or found in the cache. Never falls.
    planned : float
        Rows planned: an upper bound, which never rises.
    """

    done: float
    planned: float


class TimeLeft:
    """Estimate of the seconds left, from the rate of the last few seconds.

    A sliding window forgets rows from the cache, and earlier work of another speed.

    Parameters
    ----------
    clock : callable () -> float
        Monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steps: deque[tuple[float, float]] = deque()

    def __call__(self, done: float, planned: float) -> float | None:
        """Record a step; return None while the window is too short for an estimate."""
        now = self._clock()
        self._steps.append((now, done))
        while self._is_past(now, done):
            self._steps.popleft()
        since, before = self._steps[0]
        if now - since < _LEAST_SECONDS or done <= before:
            return None
        return (planned - done) * (now - since) / (done - before)

    def _is_past(self, now: float, done: float) -> bool:
        """Tell whether the oldest step is outside the window: the next one is old, with fewer rows.

        The window grows with a slow model, one call of which takes longer.
        """
        if len(self._steps) < 3:
            return False
        when, before = self._steps[1]
        return when <= now - _MEASURED_SECONDS and before < done


@contextmanager
def progress_callback(
    progress: ProgressCallback | bool,
) -> Iterator[ProgressCallback | None]:
    """Return the callback to call: the given one, a progress bar for True, None for False."""
    if progress is True:
        with bar() as callback:
            yield callback
    else:
        yield progress or None


@contextmanager
def bar() -> Iterator[ProgressCallback | None]:
    """Show a progress bar in a notebook, or on standard error if that is a terminal.

    A terminal shows one at a time: calls that run beside it show none.
    """
    if _in_notebook():
        yield _NotebookBar()
    elif sys.stderr and sys.stderr.isatty() and _drawing.acquire(blocking=False):
        line = _Line(sys.stderr)
        try:
            yield line
        finally:
            line.write("")
            _drawing.release()
    else:
        yield None


def monotonic(callback: ProgressCallback) -> ProgressCallback:
    """Wrap a callback so that progress never falls, though a retry begins at 0."""
    highest = -1.0

    def call_if_higher(done: float, planned: float) -> None:
        nonlocal highest
        if done > highest:
            highest = done
            callback(done, planned)

    return call_if_higher


class _Line:
    """Progress bar on one line of a terminal, redrawn in place."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._width = 0
        self._left = TimeLeft()

    def __call__(self, done: float, planned: float) -> None:
        if planned:
            left = self._left(done, planned)
            filled = int(_BAR_WIDTH * done / planned)
            room = shutil.get_terminal_size().columns - 1
            self.write(f"[{'=' * filled:{_BAR_WIDTH}}] {_text(done, planned, left)}"[:room])

    def write(self, text: str) -> None:
        """Replace the line; an empty text leaves the cursor where it began."""
        self._stream.write(f"\r{text:{self._width}}" + ("" if text else "\r"))
        self._stream.flush()
        self._width = len(text)


class _NotebookBar:
    """Progress bar in the output of a notebook's cell, updated in place."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._left = TimeLeft()

    def __call__(self, done: float, planned: float) -> None:
        if not planned:
            return
        text = _text(done, planned, self._left(done, planned))
        bundle = {
            "text/html": f'<progress value="{done:.0f}" max="{planned:.0f}"></progress> {text}',
            "text/plain": text,
        }
        if self._handle is None:
            self._handle = _display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def spell_time(seconds: float | None) -> str:
    """Format seconds as minutes and seconds, or with hours; empty where unknown."""
    if seconds is None:
        return ""
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _text(done: float, planned: float, left: float | None) -> str:
    # No count: what is planned are rows to predict, and work on trees as so many of them.
    share = f"{done / planned:.0%} of the work planned at most"
    return share if left is None else f"{share}, {spell_time(left)} left"


def _in_notebook() -> bool:
    """Tell whether this process is a notebook's kernel, which has loaded IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def _display(*arguments: Any, **options: Any) -> Any:
    # Loaded already in a notebook, and needed nowhere else.
    return import_module("IPython.display").display(*arguments, **options)
