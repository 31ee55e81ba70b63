"""Preparation of accumulated local effects: rows drawn within each group, and their moves laid."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.contract_limits import AccumulatedLocalEffectsOptions
from onnxplain_server.explain.registry import Preparation, to_its_end
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import accumulated_local_effects as method
from onnxplain_server.methods.accumulated_local_effects import Options, Result


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare accumulated local effects.

    Raises
    ------
    ExplainError
        If options, model and table do not fit each other.
    """
    effects, sample = task.effects, task.sample
    options = method.resolve(options, sample.features.names, task.path)
    groups = _groups(task, options)
    rows = np.concatenate([drawn for _, drawn in groups])
    backgrounds = [
        (label, sample.unmerged(drawn), sample.units(sample.table.as_sent(drawn)))
        for label, drawn in groups
    ]
    entries = list(method.moves(options, backgrounds))
    cost = len(rows) + sum(moves.cost() for entry in entries for moves in entry)
    return Job(
        options,
        cost,
        lambda: method.compute(effects, options, entries, sample.seed),
        sample.used(rows),
    )


def _groups(task: Task, options: Options) -> list[tuple[str, Indices]]:
    """Draw rows: of the table, or of each group of them."""
    sample, count = task.sample, AccumulatedLocalEffectsOptions.default_rows
    if not options.group_column:
        return [("", sample.draw(sample.rows, count))]
    path = f"{task.path}.group_column"
    groups = sample.groups(options.group_column, options.group_count, path)
    return [(group.label, sample.draw(group.rows, count)) for group in groups]


PREPARATION = Preparation(
    prepare=prepare,
    moves_few_features=True,
    rehearsing=to_its_end,
    resamples_rows=lambda options: options.resampling.repeat_count > 0,
    warm_up=({"repeatCount": 10},),
)
