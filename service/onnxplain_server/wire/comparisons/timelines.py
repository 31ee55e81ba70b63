"""Timelines of kept answers as messages: answers with their times in, plots out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1 import plot_pb2

from onnxplain_server.wire.answers.plot_messages import write_plot
from onnxplain_server.wire.comparisons.replicates import read_replicates


def draw_timelines(
    runs: Sequence[tuple[datetime, service_pb2.ExplainResponse]], name_of: Callable[[str], str]
) -> list[plot_pb2.Plot]:
    """Draw importances and losses over kept answers, the oldest first.

    Parameters
    ----------
    runs : sequence of (datetime, ExplainResponse)
        Times in UTC.
    name_of : callable (str) -> str
        Gives an output its name in titles.

    Raises
    ------
    ExplainError
        INVALID_REQUEST for an answer whose replicates do not fit.
    """
    # Comparisons without a page draw nothing, and load none of this.
    from onnxplain_server.plots.changes.timeline import (  # noqa: PLC0415
        TimedStatistics,
        timelines,
    )

    timed = [
        TimedStatistics(
            at,
            [
                read_replicates(explanation, f"explanations[{i}]")
                for i, explanation in enumerate(answer.explanations)
                if explanation.HasField("replicates")
            ],
        )
        for at, answer in runs
    ]
    return [write_plot(plot) for plot in timelines(timed, name_of)]
