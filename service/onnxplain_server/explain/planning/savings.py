"""Savings: changes of options that at least halve the time, each with what it costs in accuracy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onnxplain_server.core.errors import ExplainError
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.registry import Change, preparation_of
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods.registry import Options

_HALF = 0.5
_WORTH_SECONDS = 0.1
"""Time below which nothing needs to be saved."""
_FEWEST_ROWS = 30


@dataclass(frozen=True, slots=True)
class Saving:
    """A change of an option that at least halves the time of a request.

    Attributes
    ----------
    field : str
        Path of the option in the request, in the contract's names.
    value : int
        Its new value.
    time_share : float
        Time after the change, as a part of that before.
    accuracy : str
        What it costs in accuracy: a sentence.
    """

    field: str
    value: int
    time_share: float
    accuracy: str


@dataclass(frozen=True, slots=True, eq=False)
class TimedPart:
    """A method of a request, and its time.

    Attributes
    ----------
    request : BoundRequest
    options : Options
        As they were sent.
    path : str
        Of the options in the request.
    job : Job
    seconds : float
    row_count : int
    """

    request: BoundRequest
    options: Options
    path: str
    job: Job[Any]
    seconds: float
    row_count: int


def savings(parts: Sequence[TimedPart]) -> tuple[Saving, ...]:
    """Return the changes that leave at most half of the time, the smallest of each option."""
    total = sum(part.seconds for part in parts)
    if total < _WORTH_SECONDS:
        return ()
    found = [*_fewer_rows(parts, total)]
    for part in parts:
        names: set[str] = set()
        for change in preparation_of(part.options).changes(part.options):
            if change.name in names:
                continue
            share = 1 - part.seconds / total * (1 - _time_share(part, change))
            if share <= _HALF:
                names.add(change.name)
                field = f"{part.path}.{change.name.rsplit('.', 1)[-1]}"
                found.append(Saving(field, change.value, share, change.accuracy))
    return tuple(found)


def _fewer_rows(parts: Sequence[TimedPart], total: float) -> Iterator[Saving]:
    """Yield a smaller `row_count` of the request, set by the method that takes longest."""
    rows = max(parts, key=lambda part: part.seconds).row_count
    for divisor in (2, 4, 8):
        fewer = rows // divisor
        if fewer < _FEWEST_ROWS:
            return
        seconds = [part.seconds * _share_on_rows(part, fewer) for part in parts]
        if sum(seconds) <= _HALF * total:
            factor = math.sqrt(rows / fewer)
            text = (
                f"{fewer:,} rows in place of {rows:,}: standard errors of averages over rows grow "
                f"by a factor of {factor:.2g}."
            )
            yield Saving("row_count", fewer, sum(seconds) / total, text)
            return


def _share_on_rows(part: TimedPart, rows: int) -> float:
    """Return the time of a method on other rows, as a part of its time now."""
    if not part.row_count or part.job.repetition_count is not None:
        return 1.0
    return _share(part, part.options, part.request.with_row_count(rows))


def _time_share(part: TimedPart, change: Change) -> float:
    options = _changed(part.options, change.name.split("."), change.value)
    return _share(part, options, part.request)


def _share(part: TimedPart, options: Options, request: BoundRequest) -> float:
    """Return the time of a changed method, as a part of its time now; infinite if refused."""
    try:
        changed = preparation_of(options).prepare(Task(request, part.path), options)
    except ExplainError:
        return math.inf
    before, after = part.job.repetition_count, changed.repetition_count
    if before is not None and after is not None:
        return after / before
    return changed.cost / part.job.cost if part.job.cost else 1.0


def _changed(options: Any, names: Sequence[str], value: int) -> Any:
    """Replace a field of options, or of one of their parts."""
    name, *rest = names
    return replace(
        options, **{name: _changed(getattr(options, name), rest, value) if rest else value}
    )
