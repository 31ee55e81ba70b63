"""How far a computation is, and a bar that shows it in a terminal or a notebook."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TextIO, TypeAlias

ProgressCallback: TypeAlias = Callable[[float, float], object]
"""Told the rows done, and the rows planned."""

_BAR_WIDTH = 30
_MEASURED_SECONDS = 10.0
_LEAST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a computation is.

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
    """Estimates the seconds that are left, from the rows done in the last few seconds.

    So neither rows that came at once from the cache, nor work of another speed that is over,
    count for longer than these seconds.

    Parameters
    ----------
    clock : callable () -> float
        Seconds, never falling.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steps: deque[tuple[float, float]] = deque()

    def __call__(self, done: float, planned: float) -> float | None:
        """Take note of a step; None while too little has been measured to tell."""
        now = self._clock()
        self._steps.append((now, done))
        while self._is_past(now, done):
            self._steps.popleft()
        since, before = self._steps[0]
        if now - since < _LEAST_SECONDS or done <= before:
            return None
        return (planned - done) * (now - since) / (done - before)

    def _is_past(self, now: float, done: float) -> bool:
        """Whether the oldest step is no longer needed: the one after it is old, and has fewer rows.

        A call of a slow model takes longer than what is measured otherwise.
        """
        if len(self._steps) < 3:
            return False
        when, before = self._steps[1]
        return when <= now - _MEASURED_SECONDS and before < done


@contextmanager
def follow(progress: ProgressCallback | bool | None) -> Iterator[ProgressCallback | None]:
    """Give what is to be told: the callback itself, a bar for True, or None for nobody."""
    if progress is True:
        with bar() as tell:
            yield tell
    else:
        yield progress or None


@contextmanager
def bar() -> Iterator[ProgressCallback | None]:
    """Show a bar where someone may see it: in a notebook, or on standard error if a terminal."""
    if _in_notebook():
        yield _NotebookBar()
    elif sys.stderr.isatty():
        line = _Line(sys.stderr)
        try:
            yield line
        finally:
            line.write("")
    else:
        yield None


def monotonic(tell: ProgressCallback) -> ProgressCallback:
    """Make what is told never fall, though a second attempt begins at 0 again."""
    most = -1.0

    def told(done: float, planned: float) -> None:
        nonlocal most
        if done > most:
            most = done
            tell(done, planned)

    return told


class _Line:
    """A bar on one line of a terminal, drawn over itself."""

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
    """A bar in the output of a notebook's cell, updated in place."""

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
    """Write a time as minutes and seconds, or with hours; empty where it is not known."""
    if seconds is None:
        return ""
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _text(done: float, planned: float, left: float | None) -> str:
    at_most = f"{done / planned:.0%} of at most {planned:,.0f} rows"
    return at_most if left is None else f"{at_most}, {spell_time(left)} left"


def _in_notebook() -> bool:
    """Tell whether this is a notebook's kernel; where IPython is not loaded, it is none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def _display(*arguments: Any, **options: Any) -> Any:
    # Loaded already in a notebook, and needed nowhere else.
    return import_module("IPython.display").display(*arguments, **options)
