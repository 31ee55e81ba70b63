"""Kept replicates on the wire: statistics of a result to messages, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnxplain.v1 import explanation_comparison_pb2 as comparison_pb2
from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.changes.matching import KeptStatistics
from onnxplain_server.methods.resampling import ReplicatedStatistic
from onnxplain_server.wire import message_fields
from onnxplain_server.wire.message_fields import Values
from onnxplain_server.wire.table import from_column, to_columns


def write_replicates(message: service_pb2.Explanation, result: Any) -> None:
    """Write the replicates that a result has kept into its explanation."""
    kept = getattr(result, "replicates", ())
    if not kept:
        return
    message.replicates.output_names.extend(result.output_names)
    exceptions = {"ReplicatedStatistic": _grid}
    message.replicates.statistics.extend(
        message_fields.write(comparison_pb2.ReplicatedStatistic, each, exceptions) for each in kept
    )


def _grid(statistic: ReplicatedStatistic) -> Values:
    return {"grid": to_columns(statistic.features[: len(statistic.grid)], statistic.grid)}


def read_replicates(message: service_pb2.Explanation, path: str) -> KeptStatistics:
    """Read the replicates of an explanation.

    Raises
    ------
    ExplainError
        INVALID_REQUEST where numbers do not fit outputs and points.
    """
    names = tuple(message.replicates.output_names)
    return KeptStatistics(
        names,
        tuple(
            _statistic(each, len(names), f"{path}.replicates.statistics[{i}]")
            for i, each in enumerate(message.replicates.statistics)
        ),
    )


def _statistic(
    message: comparison_pb2.ReplicatedStatistic, output_count: int, path: str
) -> ReplicatedStatistic:
    grid = tuple(from_column(column) for column in message.grid)
    point_count = len(grid[0]) if grid else 1
    values, replicates = np.array(message.values), np.array(message.replicates)
    size = point_count * output_count
    kinds = comparison_pb2.ReplicatedStatistic.Kind
    fits = {len(points) for points in grid} <= {point_count} and len(grid) <= len(message.features)
    if not fits or not size or len(values) != size or len(replicates) % size:
        raise ExplainError(
            Reason.INVALID_REQUEST,
            f"{len(values):,} values and {len(replicates):,} replicates do not fit "
            f"{point_count:,} points of {output_count:,} outputs; send the answer as it was made",
            path,
        )
    if message.kind not in kinds.values() or not message.kind:
        problem = f"kind has no value number {message.kind}; send it to a server of that version"
        raise ExplainError(Reason.INVALID_REQUEST, problem, f"{path}.kind")
    return ReplicatedStatistic(
        kinds.Name(message.kind),
        tuple(message.features),
        message.group,
        grid,
        values.reshape(point_count, output_count),
        replicates.reshape(-1, point_count, output_count),
        message.unit_count,
        message.is_stepped,
    )
