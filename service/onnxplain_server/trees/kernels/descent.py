"""Descent table: the nodes of trees laid out for kernels, one comparison per node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Int32Matrix, Int32Vector
from onnxplain_server.trees.reading.ensemble import CellSets, Ensemble, Int32Array

FEATURE, LOW, SPAN, INSIDE, OUTSIDE = range(5)
MANY = -1
"""Span of a node whose set of cells is neither a run nor all but a run."""


class Descent(NamedTuple):
    """Trees as kernels descend them.

    Attributes
    ----------
    roots : (n_trees,)
    nodes : (n_nodes, 5)
        Feature, or -1 - leaf at leaves; low and span of a run of cells; the next node for cells
        inside the run, and outside; both lead back to a leaf. A span of `MANY` stands for the runs
        of `truth`.
    truth : CellSets
        Cells for which each node is true.
    """

    roots: Int32Vector
    nodes: Int32Matrix
    truth: CellSets


def build_descent(ensemble: Ensemble) -> Descent:
    """Build the table; a node true outside one run, as with missing values, is negated."""
    start, low, high = ensemble.truth
    counts = np.diff(start)
    nodes = np.zeros((len(counts), 5), dtype=np.int32)
    nodes[:, FEATURE], nodes[:, SPAN] = ensemble.feature, MANY
    nodes[ensemble.leaf, FEATURE] = -1 - np.arange(len(ensemble.leaf))
    nodes[:, INSIDE], nodes[:, OUTSIDE] = ensemble.true, ensemble.false
    nodes[ensemble.leaf, INSIDE] = nodes[ensemble.leaf, OUTSIDE] = ensemble.leaf
    nodes[counts == 0, SPAN] = 0
    single = np.flatnonzero(counts == 1)
    nodes[single, LOW] = low[start[single]]
    nodes[single, SPAN] = high[start[single]] - low[start[single]]
    gap = _true_outside_one_run(ensemble)
    nodes[gap, LOW] = high[start[gap]]
    nodes[gap, SPAN] = low[start[gap] + 1] - high[start[gap]]
    nodes[gap, INSIDE], nodes[gap, OUTSIDE] = ensemble.false[gap], ensemble.true[gap]
    return Descent(ensemble.roots, nodes, ensemble.truth)


def _true_outside_one_run(ensemble: Ensemble) -> Int32Array:
    """Find nodes that are true in two runs, one at each end of the feature."""
    start, low, high = ensemble.truth
    nodes = np.flatnonzero(np.diff(start) == 2)
    feature, begin = ensemble.feature[nodes], start[nodes]
    at_ends = low[begin] == ensemble.first[feature]
    at_ends &= high[begin + 1] == ensemble.first[feature + 1] - 1
    negated: Int32Array = nodes[at_ends].astype(np.int32)
    return negated
