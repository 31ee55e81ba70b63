"""Effort of swarm's searches: how often they start, and settings that save time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from onnxplain_server.explain.registry import Change, Repetitions
from onnxplain_server.explain.task import Job
from onnxplain_server.methods.swarm import Options, Result

_LEAST = {"loss": "SQUARED_ERROR", "iterationCount": 1, "pointCount": 10}
WARM_UP = (
    {"loss": "SQUARED_ERROR", "pointCount": 10},
    {**_LEAST, "search": "PUBLISHED"},
    {**_LEAST, "search": "DIFFERENTIAL_EVOLUTION"},
)
"""Options that reach the code of each search."""


def fewer_repetitions(options: Options, _job: Job[Result]) -> Sequence[Options]:
    """Search from one start."""
    settings = options.search_settings
    if settings.restart_count <= 1:
        return ()
    return (replace(options, search_settings=replace(settings, restart_count=1)),)


def repetitions(job: Job[Result]) -> tuple[Repetitions, ...]:
    """Return from how many starts weights are searched."""
    assert isinstance(job.options, Options)  # noqa: S101 - the method's own
    count = job.options.search_settings.restart_count
    return (Repetitions(count, "searched from {} starts instead of {}"),)


def changes(options: Options) -> Iterator[Change]:
    """Yield changes that try fewer weights."""
    for name in ("restart_count", "iteration_count"):
        count = getattr(options.search_settings, name)
        if count >= 2:
            yield Change(
                f"search_settings.{name}",
                count // 2,
                f"{count // 2} in place of {count}: a search that tries half as many weights is "
                "likelier to miss the most damaging one.",
            )
