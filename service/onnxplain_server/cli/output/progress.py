"""Progress bar on standard error, shown only if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from onnxplain.progress import TimeLeft, spell_time


@contextmanager
def bar() -> Iterator[Callable[[float, float], None] | None]:
    """Yield a callback for rows done and planned; None if there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("reading", total=None, left="")
        time_left = TimeLeft()

        def update(done: float, planned: float) -> None:
            if planned:
                text = f"{done:,.0f} of at most {planned:,.0f} rows"
                left = time_left(done, planned)
                remaining = f"{spell_time(left)} left" if left is not None else ""
                progress.update(
                    task, completed=done, total=planned, description=text, left=remaining
                )

        yield update
