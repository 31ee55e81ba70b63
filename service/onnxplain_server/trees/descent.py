"""Nodes as rows pass them: one comparison each, side by side in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.trees.ensemble import Ensemble, Numbers

FEATURE, LOW, SPAN, INSIDE, OUTSIDE = range(5)
MANY = -1
"""Span of a node whose set of cells is neither a run nor all but a run."""


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """What a row needs to find its way.

    Attributes
    ----------
    nodes : (n_nodes, 5)
        Feature, or -1 - leaf at leaves; low and span of a run of cells; the next node for cells
        inside it, and outside. Where the span is `MANY`, all runs have to be tried.
    run_start, run_low, run_high
        As in `Ensemble`.
    """

    nodes: npt.NDArray[np.int32]
    run_start: Numbers
    run_low: Numbers
    run_high: Numbers


def descent(ensemble: Ensemble) -> Descent:
    """Turn each node around where all but one run of cells is true, as with missing values."""
    start, low, high = ensemble.run_start, ensemble.run_low, ensemble.run_high
    counts = np.diff(start)
    nodes = np.zeros((len(counts), 5), dtype=np.int32)
    nodes[:, FEATURE], nodes[:, SPAN] = ensemble.feature, MANY
    nodes[ensemble.leaf, FEATURE] = -1 - np.arange(len(ensemble.leaf))
    nodes[:, INSIDE], nodes[:, OUTSIDE] = ensemble.true, ensemble.false
    nodes[counts == 0, SPAN] = 0
    one = np.flatnonzero(counts == 1)
    nodes[one, LOW] = low[start[one]]
    nodes[one, SPAN] = high[start[one]] - low[start[one]]
    two = np.flatnonzero(counts == 2)
    first, second = start[two], start[two] + 1
    feature = ensemble.feature[two]
    at_ends = low[first] == ensemble.first[feature]
    at_ends &= high[second] == ensemble.first[feature + 1] - 1
    two, first, second = two[at_ends], first[at_ends], second[at_ends]
    nodes[two, LOW], nodes[two, SPAN] = high[first], low[second] - high[first]
    nodes[two, INSIDE], nodes[two, OUTSIDE] = ensemble.false[two], ensemble.true[two]
    return Descent(nodes, start, low, high)
