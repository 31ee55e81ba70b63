"""A progress bar on standard error, where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


@contextmanager
def bar() -> Iterator[Callable[[float, float], None] | None]:
    """Give what is to be told rows done and planned; None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("reading", total=None)

        def tell(done: float, planned: float) -> None:
            if planned:
                text = f"{done:,.0f} of at most {planned:,.0f} rows"
                progress.update(task, completed=done, total=planned, description=text)

        yield tell
