"""Preparation of permutation importance: the target is read, and rows to shuffle are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.core.model import Note
from onnxplain_server.effects.engine import Effects
from onnxplain_server.explain.far_from_target import far_from_target, reversed_ranking
from onnxplain_server.explain.loss_choice import with_loss
from onnxplain_server.explain.methods.compared_outputs import on_compared_outputs
from onnxplain_server.explain.registry import (
    Change,
    Preparation,
    Repetitions,
    halvings,
    to_its_end,
)
from onnxplain_server.explain.row_counts import SHUFFLED_ROWS
from onnxplain_server.explain.rows.ranked_rows import draw_rows
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import permutation_importance, target
from onnxplain_server.methods.comparison import RowContext
from onnxplain_server.methods.permutation_importance import Options, Result
from onnxplain_server.methods.resampling import RowUnits
from onnxplain_server.methods.sampled import permutation_importance as sampled
from onnxplain_server.methods.sampled.intervals import SampledRows

_FEW_SHUFFLES = 2
"""Repetitions where they are saved; two still have a standard error."""


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare permutation importance.

    Raises
    ------
    ExplainError
        If options, model and table do not fit each other.
    """
    task = on_compared_outputs(task, options.comparison)
    sample, outputs, path = task.sample, task.outputs, task.path
    names, table, columns = sample.features.names, sample.table, task.question.targets
    options = permutation_importance.resolve(options, names, table, columns, outputs, path)
    options = replace(options, comparison=with_loss(options.comparison, task))
    truth = target.read(options.comparison, table, outputs, path)
    rows = draw_rows(sample, truth.beside, SHUFFLED_ROWS, path)
    actual, weights = truth.values[rows], sample.weights[rows]
    beside = truth.beside and truth.beside.take(rows)
    effects = task.effects.restrict(sample.unmerged(rows))
    shuffles = _Shuffles(effects, options, actual, beside, sample.seed, sample.units(rows))

    def remarks(result: Result) -> tuple[Note, ...]:
        losses, names = result.baseline_losses, result.output_names
        compared = options.comparison, actual, weights, losses, names
        far = far_from_target(*compared, predict=effects.outputs)
        far += reversed_ranking(*compared, effects.outputs, beside)
        return (*result.notes, *far)

    return Job(
        options,
        permutation_importance.cost(effects, options),
        shuffles.run,
        sample.used(rows),
        remarks=remarks,
        pairings=truth.pairings,
        run_sampled=shuffles.run_sampled if sampled.is_average(options) else None,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Shuffles:
    """Shuffles of the features of rows.

    Attributes
    ----------
    effects : Effects
    options : Options
    actual : (n_rows, n_outputs)
    beside : RowContext or None
    seed : int
    units : RowUnits
        Of the rows.
    """

    effects: Effects
    options: Options
    actual: Matrix
    beside: RowContext | None
    seed: int
    units: RowUnits

    def run(self) -> Result:
        """Compute importances, with replicates where they are kept of averages over rows."""
        own = self.effects, self.options, self.actual, self.seed, self.beside
        if not self.options.kept_repeat_count or not sampled.is_average(self.options):
            return permutation_importance.compute(*own)
        found = sampled.influences_of(*own)
        return self._keeping(found, found.result)

    def run_sampled(self, of: SampledRows) -> Result:
        """Compute importances with intervals of the values on all rows."""
        own = self.effects, self.options, self.actual, self.seed, self.beside
        found = sampled.influences_of(*own)
        result = found.with_intervals(of)
        return self._keeping(found, result) if self.options.kept_repeat_count else result

    def _keeping(self, found: sampled.Influences, result: Result) -> Result:
        count = self.options.kept_repeat_count
        return found.with_replicates(result, self.units, self.seed, count)


def _fewer_repetitions(options: Options, _job: Job[Result]) -> Sequence[Options]:
    if options.repeat_count <= _FEW_SHUFFLES:
        return ()
    return (replace(options, repeat_count=_FEW_SHUFFLES),)


def _repetitions(job: Job[Result]) -> tuple[Repetitions, ...]:
    assert isinstance(job.options, Options)  # noqa: S101 - the method's own
    return (Repetitions(job.options.repeat_count, "shuffled {} times instead of {}"),)


def _changes(options: Options) -> Iterator[Change]:
    count = options.repeat_count
    for fewer in halvings(count, 1):
        error = f"the standard error of an importance grows by {math.sqrt(count / fewer):.2g}"
        cost = error if fewer > 1 else "there is no standard error"
        yield Change("repeat_count", fewer, f"{fewer} shuffles in place of {count}: {cost}.")


PREPARATION = Preparation(
    prepare=prepare,
    resamples_rows=lambda options: options.kept_repeat_count > 0,
    sample_shares=(16,),
    single_features=lambda options, _: [one[0] for one in options.features if len(one) == 1],
    rehearsing=to_its_end,
    fewer_repetitions=_fewer_repetitions,
    repetitions=_repetitions,
    changes=_changes,
)
