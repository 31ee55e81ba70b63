"""Savings: changes of options that at least halve the time, each with what it costs in accuracy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onnxplain_server.core.errors import ExplainError
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.registry import preparation_of
from onnxplain_server.explain.task import Task
from onnxplain_server.methods import (
    feature_vectors,
    individual_conditional_expectation,
    interactions,
    partial_dependence,
    permutation_importance,
    swarm,
)
from onnxplain_server.methods.registry import Options

_HALF = 0.5
_WORTH_SECONDS = 0.1
"""Time below which nothing needs to be saved."""
_FEWEST_ROWS, _FEWEST_POINTS = 30, 5
_KNOTS = 15


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
    cost : int
        Upper bound of its rows to predict.
    seconds : float
    row_count : int
    """

    request: BoundRequest
    options: Options
    path: str
    cost: int
    seconds: float
    row_count: int


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    name: str
    value: int
    accuracy: str


def savings(parts: Sequence[TimedPart]) -> tuple[Saving, ...]:
    """Return the changes that leave at most half of the time, the smallest of each option."""
    total = sum(part.seconds for part in parts)
    if total < _WORTH_SECONDS:
        return ()
    found = [*_fewer_rows(parts, total)]
    for part in parts:
        names: set[str] = set()
        for change in _changes(part.options):
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
    if not part.row_count or isinstance(part.options, feature_vectors.Options):
        return 1.0  # forests grow to a number of paths, on few rows as on many
    return _cost(part, part.options, part.request.with_row_count(rows)) / max(part.cost, 1)


def _time_share(part: TimedPart, change: _Change) -> float:
    count = getattr(getattr(part.options, "growth", None), "sentence_count", 0)
    options = _changed(part.options, change.name.split("."), change.value)
    if isinstance(options, feature_vectors.Options):
        return options.growth.sentence_count / count
    return _cost(part, options, part.request) / max(part.cost, 1)


def _cost(part: TimedPart, options: Options, request: BoundRequest) -> float:
    """Return the planned rows of a changed method; infinite where it is refused."""
    try:
        return preparation_of(options).prepare(Task(request, part.path), options).cost
    except ExplainError:
        return math.inf


def _changed(options: Any, names: Sequence[str], value: int) -> Any:
    """Replace a field of options, or of one of their parts."""
    name, *rest = names
    return replace(
        options, **{name: _changed(getattr(options, name), rest, value) if rest else value}
    )


def _changes(options: Any) -> Iterator[_Change]:
    """Yield changes of a method's options, small ones first."""
    if isinstance(options, interactions.Options):
        yield from _of_interactions(options)
    elif isinstance(
        options, (partial_dependence.Options, individual_conditional_expectation.Options)
    ):
        yield from _of_grids(options)
    elif isinstance(options, permutation_importance.Options):
        yield from _of_repetitions(options)
    elif isinstance(options, swarm.Options):
        yield from _of_search(options)
    elif isinstance(options, feature_vectors.Options):
        yield from _of_forest(options)


def _of_interactions(options: interactions.Options) -> Iterator[_Change]:
    count = options.pairwise_feature_count
    for fewer in (0,) if count is None else (count // 2, 0):
        if count is None or (fewer != 1 and fewer < count):
            what = f"Only pairs of the {fewer} strongest features are" if fewer else "No pairs are"
            before = "" if count is None else f", in place of those of {count}"
            text = f"{what} measured{before}; other numbers stay the same."
            yield _Change("pairwise_feature_count", fewer, text)
    if not options.knot_count and not options.quantile_bin_count:
        yield _Change(
            "knot_count",
            _KNOTS,
            f"Effects of features with more than {_KNOTS} values are interpolated between {_KNOTS} "
            "knots; each statistic then comes with the estimated error of that.",
        )


def _of_grids(options: Any) -> Iterator[_Change]:
    for divisor in (2, 4):
        fewer = options.grid_size // divisor
        if fewer >= _FEWEST_POINTS:
            yield _Change(
                "grid_size",
                fewer,
                f"Curves have {fewer} points in place of {options.grid_size}, and show nothing of "
                "what happens between them; their values at a point are as accurate as before.",
            )


def _of_repetitions(options: permutation_importance.Options) -> Iterator[_Change]:
    count = options.repeat_count
    for divisor in (2, 4):
        fewer = count // divisor
        if fewer:
            error = f"the standard error of an importance grows by {math.sqrt(count / fewer):.2g}"
            yield _Change(
                "repeat_count",
                fewer,
                f"{fewer} shuffles in place of {count}: "
                + (error if fewer > 1 else "there is no standard error")
                + ".",
            )


def _of_search(options: swarm.Options) -> Iterator[_Change]:
    settings = options.search_settings
    for name in ("restart_count", "iteration_count"):
        count = getattr(settings, name)
        if count >= 2:
            yield _Change(
                f"search_settings.{name}",
                count // 2,
                f"{count // 2} in place of {count}: a search that tries half as many weights is "
                "likelier to miss the most damaging one.",
            )


def _of_forest(options: feature_vectors.Options) -> Iterator[_Change]:
    count = options.growth.sentence_count
    for divisor in (4, 10):
        if count // divisor >= _FEWEST_SENTENCES:
            yield _Change(
                "growth.sentence_count",
                count // divisor,
                f"{count // divisor:,} paths in place of {count:,}: angles between features differ "
                f"{math.sqrt(divisor):.2g} times as much from seed to seed.",
            )


_FEWEST_SENTENCES = 1_000
