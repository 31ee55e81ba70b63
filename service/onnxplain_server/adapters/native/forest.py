"""Forest: the trees of a native file in one form for all libraries, before they become ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Flags, Indices, Vector

Labels: TypeAlias = tuple[str, ...] | tuple[int, ...]
"""Labels of classes, in their order."""
Modes = npt.NDArray[np.uint8]
"""(n,) values of `trees.reading.nodes.Mode`"""


class Link(Enum):
    """Function from a row's scores to what the library predicts.

    Scores are sums of leaf values and a base value.
    """

    IDENTITY = auto()
    EXPONENTIAL = auto()
    """Of each score."""
    LOGISTIC = auto()
    """Of each score, by itself: a share, or the probability of each of several labels."""
    TWO_CLASSES = auto()
    """Logistic of one score, the probability of the second class, and what is left for the first"""
    SOFTMAX = auto()
    """Of all scores: a probability for each class."""
    ONE_VERSUS_REST = auto()
    """Logistic of each score: a probability for each class, which need not add up to 1."""
    SIGN = auto()
    """1 for a score above 0, else 0."""
    SORTED = auto()
    """The scores in ascending order, as of quantiles that may not cross."""
    SIGNED_SQUARE = auto()
    """Square of each score, with the score's sign."""
    SOFTPLUS = auto()
    """log(1 + exp(score)) of each score."""


class Derivation(IntEnum):
    """Function that gives a column of its own, beside that of a feature, for nodes to compare."""

    FLOOR = 1
    """Greatest whole number that is not above the value."""
    NEAR_ZERO = 2
    """0 for values up to ±1e-35 (that number in float32), other numbers for other values; what it
    is for missing values is undefined."""


@dataclass(frozen=True, slots=True)
class Feature:
    """Feature of a forest.

    Attributes
    ----------
    name : str
        Empty where the file has none.
    categories : tuple of str, tuple of float or None
        Values of a categorical feature, at least one, in the order of their codes, by which trees
        know them; other values are missing. None for a number, which may be a code itself.
    """

    name: str = ""
    categories: tuple[str, ...] | tuple[float, ...] | None = None

    @property
    def has_texts(self) -> bool:
        """True if its values are texts."""
        return self.categories is not None and isinstance(self.categories[0], str)


@dataclass(frozen=True, slots=True)
class DerivedColumn:
    """Column that is derived from that of a feature, by its position."""

    derivation: Derivation
    feature: int


@dataclass(frozen=True, slots=True, eq=False)
class ForestNodes:
    """Nodes of all trees, tree by tree; children are positions in these arrays.

    Attributes
    ----------
    roots : (n_trees,)
        Ascending; a tree's nodes are those from its root to before the next one.
    modes : (n_nodes,) uint8
        What holds for a value that goes to the child `true`, of `trees.reading.nodes.Mode`.
    features : (n_nodes,)
        Position of the feature that is compared, or behind all features of the derived column; any
        number at leaves.
    thresholds : (n_nodes,) float64
        Compared in the type of the forest's input, which holds each of them exactly; any number at
        leaves and at nodes of mode MEMBER.
    true, false : (n_nodes,)
        Children; -1 at leaves.
    missing_is_true : (n_nodes,) bool
        Whether a missing value goes to the child `true`.
    members : mapping of int to (n_members,)
        Codes for which a node of mode MEMBER is true, by position of the node.
    """

    roots: Indices
    modes: Modes
    features: Indices
    thresholds: Vector
    true: Indices
    false: Indices
    missing_is_true: Flags
    members: Mapping[int, Vector] = field(default_factory=dict)

    def trees(self) -> Indices:
        """Return the tree of each node: (n_nodes,)."""
        sizes = np.diff(np.append(self.roots, len(self.modes)))
        return np.repeat(np.arange(len(sizes)), sizes)


class TreePlaces(NamedTuple):
    """Places of trees in the nodes of a forest: (n_trees,) roots, and the root of each node."""

    roots: Indices
    first: Indices


def tree_places(sizes: Sequence[int]) -> TreePlaces:
    """Place trees of so many nodes one behind the other."""
    counts = np.array(sizes, dtype=np.intp)
    roots = np.cumsum(counts) - counts
    return TreePlaces(roots, np.repeat(roots, counts))


def shifted(children: Indices, first: Indices | int) -> Indices:
    """Return children, numbered from the first node of their tree, in a forest; -1 for none."""
    moved: Indices = np.where(children < 0, -1, children + first)
    return moved


@dataclass(frozen=True, slots=True, eq=False)
class ForestLeaves:
    """Values of leaves; all leaves of a tree have values for the same targets.

    Attributes
    ----------
    nodes : (n_values,)
        Positions of the leaves.
    targets : (n_values,)
    values : (n_values,) float64
    """

    nodes: Indices
    targets: Indices
    values: Vector


@dataclass(frozen=True, slots=True, eq=False)
class NativeForest:
    """Forest of a native file.

    Attributes
    ----------
    producer : str
        Library and version, like "XGBoost 3.2.0".
    features : tuple of Feature
    nodes : ForestNodes
    leaves : ForestLeaves
    base : (n_targets,)
        Added to the sums.
    link : Link
    labels : tuple of str or tuple of int
        Labels of classes of which a row has one, where the file has them.
    is_double : bool
        Whether values and thresholds are compared as float64 instead of float32.
    derived : tuple of DerivedColumn
        Those of the same derivation stand together.
    notes : tuple of str
        Sentences about what of the file is used, where it could be read in another way.
    """

    producer: str
    features: tuple[Feature, ...]
    nodes: ForestNodes
    leaves: ForestLeaves
    base: Vector
    link: Link = Link.IDENTITY
    labels: Labels = ()
    is_double: bool = False
    derived: tuple[DerivedColumn, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def target_count(self) -> int:
        """Number of scores per row."""
        return len(self.base)

    @property
    def class_labels(self) -> Labels:
        """Labels of the classes of which a row has one: by default 0, 1 and so on; else empty."""
        count = self.target_count
        counts = {Link.TWO_CLASSES: 2, Link.SOFTMAX: count, Link.ONE_VERSUS_REST: count}
        return self.labels or tuple(range(counts.get(self.link, 0)))
