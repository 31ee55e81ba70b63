"""Checks of what a stress test compares predictions with: its loss or score, and its classes."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import listed
from onnxplain_server.explain.task import Task
from onnxplain_server.methods.losses import SCORES
from onnxplain_server.methods.swarm import Options, Score


def check_loss(options: Options, task: Task) -> None:
    """Refuse scores as a loss, as they have a field of their own, and a score of several targets.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    if options.loss in SCORES:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{options.loss.value} is a score; set score, which has "
            f"{listed(tuple(s.value for s in Score))}, and leave loss out",
            f"{task.path}.loss",
        )
    columns = options.target_columns or task.question.targets
    if options.measure is None and len(columns) > 1:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"a score reads the classes of one target, and there are {len(columns)}; name a loss, "
            "which compares each target with its output",
            f"{task.path}.loss",
        )


def check_classes(classes: Indices, path: str) -> None:
    """Refuse rows that are all of one class; INVALID_TABLE."""
    if len(np.unique(classes)) < 2:
        raise ExplainError(
            Reason.INVALID_TABLE,
            "all rows are of one class, so there is nothing to confuse it with; the target needs "
            "at least 2 classes",
            f"{path}.target_columns",
        )
