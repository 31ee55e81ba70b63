"""Parts of a LightGBM model that its text and its JSON both give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from onnxplain_server.core.arrays import Indices, Vector

CATEGORICAL, DEFAULT_LEFT = 1, 2
"""Bits of a node's decision type; the two bits above are its missing type."""
MISSING_NONE, MISSING_ZERO, MISSING_NAN = range(3)
LINEAR = (
    "The model has linear functions in its leaves (linear_tree), which are not read. Train "
    "without linear_tree, or export the model to ONNX."
)


class LightGBMTree(NamedTuple):
    """Tree as LightGBM keeps it: inner nodes, the first of which is the root, and leaves.

    Attributes
    ----------
    features, decisions : (n_inner,)
        Feature that a node compares, and its decision type.
    thresholds : (n_inner,) float64
        Any number at categorical nodes.
    left, right : (n_inner,)
        Child: an inner node, or the bitwise complement of a leaf.
    members : mapping of int to (n_members,)
        Codes that go left, by categorical node.
    values : (n_leaves,) float64
        One more than there are inner nodes.
    """

    features: Indices
    decisions: Indices
    thresholds: Vector
    left: Indices
    right: Indices
    members: Mapping[int, Vector]
    values: Vector


class Range(NamedTuple):
    """Values of a numeric feature in training."""

    low: float
    high: float


class Header(NamedTuple):
    """Header of a model: all that stands beside the trees.

    Attributes
    ----------
    version : str
        Of the format, like "v4".
    tree_per_iteration : int
        Number of scores; tree i adds to score i modulo this number.
    objective : str
        Name and parameters; empty where there is none.
    is_average : bool or None
        Whether scores average over iterations; None where the file cannot tell.
    names : tuple of str
        Of the features.
    ranges : mapping of int to Range
        Of numeric features that were used.
    code_counts : mapping of int to int
        One above the greatest code of a categorical feature in training; 0 without codes.
    pandas_categories : sequence
        Lists of categories, of those columns that pandas had as categorical, in their order; none
        where the model was trained without pandas.
    """

    version: str
    tree_per_iteration: int
    objective: str
    is_average: bool | None
    names: tuple[str, ...]
    ranges: Mapping[int, Range]
    code_counts: Mapping[int, int]
    pandas_categories: Sequence[object]
