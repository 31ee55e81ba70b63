"""Nodes as rows pass them: one comparison each, side by side in memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onnxplain_server.trees.reading.ensemble import CellSets, Ensemble, Int32Array

FEATURE, LOW, SPAN, INSIDE, OUTSIDE = range(5)
MANY = -1
"""Span of a node whose set of cells is neither a run nor all but a run."""


class Descent(NamedTuple):
    """What a row needs to find its way.

    Attributes
    ----------
    roots : (n_trees,)
    nodes : (n_nodes, 5)
        Feature, or -1 - leaf at leaves; low and span of a run of cells; the next node for cells
        inside it, and outside. Where the span is `MANY`, all runs of `truth` have to be tried.
    truth : CellSets
        Where each node is true.
    """

    roots: Int32Array
    nodes: Int32Array
    truth: CellSets


def build_descent(ensemble: Ensemble) -> Descent:
    """Turn each node around where all but one run of cells is true, as with missing values."""
    start, low, high = ensemble.truth
    counts = np.diff(start)
    nodes = np.zeros((len(counts), 5), dtype=np.int32)
    nodes[:, FEATURE], nodes[:, SPAN] = ensemble.feature, MANY
    nodes[ensemble.leaf, FEATURE] = -1 - np.arange(len(ensemble.leaf))
    nodes[:, INSIDE], nodes[:, OUTSIDE] = ensemble.true, ensemble.false
    nodes[counts == 0, SPAN] = 0
    one = np.flatnonzero(counts == 1)
    nodes[one, LOW] = low[start[one]]
    nodes[one, SPAN] = high[start[one]] - low[start[one]]
    two = _all_but_one(ensemble)
    nodes[two, LOW] = high[start[two]]
    nodes[two, SPAN] = low[start[two] + 1] - high[start[two]]
    nodes[two, INSIDE], nodes[two, OUTSIDE] = ensemble.false[two], ensemble.true[two]
    return Descent(ensemble.roots, nodes, ensemble.truth)


def _all_but_one(ensemble: Ensemble) -> Int32Array:
    """Nodes that are true in two runs, one at each end of the feature."""
    start, low, high = ensemble.truth
    two = np.flatnonzero(np.diff(start) == 2)
    feature, begin = ensemble.feature[two], start[two]
    at_ends = low[begin] == ensemble.first[feature]
    at_ends &= high[begin + 1] == ensemble.first[feature + 1] - 1
    found: Int32Array = two[at_ends].astype(np.int32)
    return found
