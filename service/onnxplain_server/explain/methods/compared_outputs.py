"""Outputs of a task that its target is compared with; see `methods.target_outputs`."""

from __future__ import annotations

from dataclasses import replace

from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.task import Task
from onnxplain_server.methods import target
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.target_outputs import UnclearTargetError, compared_outputs


def on_compared_outputs(task: Task, comparison: Comparison) -> Task:
    """Return the task on the outputs that its target is compared with.

    Raises
    ------
    ExplainError
        Those of `target.resolve` and `compared_outputs`.
    """
    table, outputs = task.sample.table, task.outputs
    columns = task.question.targets
    resolved = target.resolve(comparison, table, columns, outputs, task.path)
    compared = compared_outputs(resolved, table, outputs, task.path)
    if compared == outputs.explained:
        return task
    return replace(task, request=task.request.of_outputs(compared))


def unclear_target(request: BoundRequest) -> tuple[Note, ...]:
    """Warn that an overview compares its target with no output; empty if it does."""
    try:
        on_compared_outputs(Task(request, "average_loss"), Comparison())
    except UnclearTargetError as unclear:
        message = (
            f"Losses and importances are left out: {unclear.cause}. Choose the output in outputs, "
            "or give a column for each output in target_columns."
        )
        return (Note(InputWarning.UNCLEAR_TARGET, message),)
    return ()
