"""Preparation of attributions: what they tell about themselves, and what makes them shorter."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from onnxplain_server.explain.methods.attributions.effort import answer_bytes, seconds
from onnxplain_server.explain.methods.attributions.preparation import prepare
from onnxplain_server.explain.registry import (
    Change,
    Preparation,
    Rehearsing,
    Repetitions,
    halvings,
    to_its_end,
)
from onnxplain_server.explain.task import Job
from onnxplain_server.methods.attributions import Options, Result
from onnxplain_server.methods.option_checks import singles

_FEW_PERMUTATIONS = 25
"""Pairs of orders where they are saved: standard errors are some three times as large."""
_FEW_EXPLAINED = 10
"""Rows explained where they are saved."""


def _fewer_repetitions(options: Options, job: Job[Result]) -> Sequence[Options]:
    """Halve the orders of estimated values, then the rows explained, where these are drawn."""
    if job.repetition_count is None:
        return ()
    orders = _halved(options.permutation_count, _FEW_PERMUTATIONS)
    fewer = [replace(options, permutation_count=count) for count in orders]
    if options.are_rows_drawn:
        last, explained = [options, *fewer][-1], job.repetition_count // options.permutation_count
        rows = _halved(explained, _FEW_EXPLAINED)
        fewer += [replace(last, explained_row_count=count) for count in rows]
    return fewer


def _halved(count: int, least: int) -> Iterator[int]:
    """Yield halves of a count, the last of them `least`."""
    while count > least:
        count = max(count // 2, least)
        yield count


def _repetitions(job: Job[Result]) -> tuple[Repetitions, ...]:
    options = job.options
    if job.repetition_count is None or not isinstance(options, Options):
        return ()
    orders = options.permutation_count
    return (
        Repetitions(orders, "estimated from {} pairs of orders instead of {}"),
        Repetitions(job.repetition_count // orders, "for {} rows explained instead of {}"),
    )


def _changes(options: Options) -> Iterator[Change]:
    count = options.permutation_count
    for fewer in halvings(count, _FEW_PERMUTATIONS):
        error = f"standard errors grow by {math.sqrt(count / fewer):.2g}"
        text = f"{fewer} pairs of orders in place of {count}: {error}."
        yield Change("permutation_count", fewer, text)
    rows = options.explained_row_count
    if options.are_rows_drawn:
        for fewer in halvings(rows, 1):
            yield Change(
                "explained_row_count", fewer, f"{fewer} rows explained in place of {rows}."
            )


def _rehearsing(options: Options) -> Rehearsing:
    """Return the bound where errors, which depend on predictions, end the work."""
    return Rehearsing.BY_BOUND if options.target_standard_error else to_its_end(options)


PREPARATION = Preparation(
    prepare=prepare,
    rehearsing=_rehearsing,
    seconds=seconds,
    single_features=lambda options, names: singles(names, options.groups),
    answer_bytes=answer_bytes,
    fewer_repetitions=_fewer_repetitions,
    repetitions=_repetitions,
    changes=_changes,
    warm_up=(
        {"explainedRowCount": 50, "order": 2, "groups": [{"names": ["a", "b"]}]},
        {"explainedRowCount": 1, "order": 2, "backgroundRowIndices": [0]},
        {"explainedRowCount": 50, "order": 2, "perturbation": "PATH_DEPENDENT"},
        {"explainedRowCount": 1, "perturbation": "PATH_DEPENDENT"},
    ),
    is_warm_after_one=True,
    is_on_margin=True,
)
