"""True values beside curves: their means over the rows nearest to each point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.model import Scale
from onnxplain_server.core.rows import is_missing
from onnxplain_server.effects.grids import means_near, rows_near
from onnxplain_server.explain.task import Task
from onnxplain_server.methods import target
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.groups import Group
from onnxplain_server.methods.partial_dependence import PartialDependenceCurve, Result
from onnxplain_server.methods.target_outputs import compared_outputs
from onnxplain_server.plots.elements.labels import clean


class ObservedMeans:
    """Means of the target of one method's rows, for the outputs that it is compared with.

    Parameters
    ----------
    task : Task
    groups : sequence of Group
        The rows that curves are averaged over.
    """

    def __init__(self, task: Task, groups: Sequence[Group]) -> None:
        self._sample = task.sample
        self._groups = {group.label: group.rows for group in groups}
        self._values = _true_values(task)
        self._gaps = _target_gaps(task) if self._values is None else ""

    def told(self, result: Result) -> Result:
        """Return the curves of single features with the means of true values, or why without."""
        if self._values is None:
            return replace(result, target_gaps=self._gaps)
        values = self._values
        return replace(result, curves=tuple(self._of(curve, values) for curve in result.curves))

    def _of(self, curve: PartialDependenceCurve, values: Matrix) -> PartialDependenceCurve:
        if len(curve.features) > 1:
            return curve
        numbers: Indices = self._groups[curve.group]
        rows, (name,) = self._sample.unmerged(numbers), curve.features
        near = rows_near(rows, curve.features, curve.grid, is_stepped=curve.is_stepped)
        own = values[numbers]
        means = means_near(rows, name, curve.grid, own, near, is_stepped=curve.is_stepped)
        return replace(curve, observed_means=means)


def _true_values(task: Task) -> Matrix | None:
    """Return true values, (n_rows, n_outputs), NaN where an output has none; None without any.

    A target that is compared with no output, as losses would say, has none here.
    """
    columns, table, outputs = task.question.targets, task.sample.table, task.outputs
    if not columns or task.question.scale is not Scale.RESPONSE:
        return None
    try:
        comparison = target.resolve(Comparison(), table, columns, outputs, task.path)
        compared = compared_outputs(comparison, table, outputs, task.path)
        known = target.read(comparison, table, replace(outputs, explained=compared), task.path)
    except ExplainError:
        return None
    values = np.full((table.n_rows, len(outputs.explained)), np.nan)
    values[:, [outputs.explained.index(output) for output in compared]] = known.values
    return values


def _target_gaps(task: Task) -> str:
    """Tell how many rows have no finite true value, with which nothing can be compared."""
    table = task.sample.table
    is_compared = task.question.scale is Scale.RESPONSE
    for name in task.question.targets if is_compared else ():
        if name not in table.columns:
            continue
        column = table.column(name)
        missing = is_missing(column)
        kind = ""
        if not missing.any() and column.dtype != object:
            missing, kind = np.isinf(column), "finite "
        if count := int(missing.sum()):
            have = "has" if count == 1 else "have"
            return f"{count:,} of {table.n_rows:,} rows {have} no {kind}{clean(name)}"
    return ""
