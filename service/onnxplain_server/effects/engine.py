"""Engine interface: partial dependence at the rows and on grids, and predictions of moved rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol, runtime_checkable

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.effects.attributing.games import ExactAttributions
from onnxplain_server.effects.attributing.mixed_rows import RowMixture
from onnxplain_server.effects.background import Background

Group = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Single:
    r"""Partial dependence on one feature and on all others; not centred.

    Attributes
    ----------
    feature : int
    own, others : (n_rows, n_outputs), or (n_replicates, n_rows, n_outputs)
        F_j and F_\j at each row's own values.
    own_error, others_error : (n_outputs,) or None
        Estimated root mean square error of each, where they are interpolated.
    """

    feature: int
    own: Array
    others: Array
    own_error: Vector | None = None
    others_error: Vector | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """Partial dependence on several features together; not centred.

    Attributes
    ----------
    features : tuple of int
    whole : (n_rows, n_outputs), or (n_replicates, n_rows, n_outputs)
        F_jk or F_jkl at each row's own values.
    pure : as `whole`
        Interaction effect beyond all smaller groups, up to a constant: F_jk - F_j - F_k, or
        F_jkl - F_jk - F_jl - F_kl + F_j + F_k + F_l.
    error : (n_outputs,) or None
        Estimated bound of the root mean square error of `pure`, where effects are interpolated:
        by the triangle inequality, the sum over its terms.
    """

    features: tuple[int, ...]
    whole: Array
    pure: Array
    error: Vector | None = None


def pure_effect(group: tuple[int, ...], effects: Mapping[tuple[int, ...], Array]) -> Array:
    """Subtract the effects of all smaller groups, by inclusion and exclusion."""
    pure = effects[group].copy()
    for size in range(1, len(group)):
        sign = (-1) ** (len(group) - size)
        for part in combinations(group, size):
            pure += sign * effects[part]
    return pure


_USUAL_PAIRS = 10


def usual_pairs(effects: Effects) -> float:
    """Return how many pairs cost as much as a few pairs of features that differ in each row."""
    n = len(effects.background)
    dearest = sorted(range(len(effects.background.columns)), key=lambda j: -effects.cost((j,)))
    return _USUAL_PAIRS * n * n / max(effects.cost(dearest[:2]), 1)


class RowEffects(Protocol):
    """Effects at the rows of an engine, or of one with groups of features as one each."""

    @property
    def background(self) -> Background:
        """The rows that effects average over and are evaluated at."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, in the order of the arrays' last axis."""

    def outputs(self) -> Matrix:
        """Predict the rows: (n_rows, n_outputs)."""

    def rounding_error(self) -> Vector:
        """Bound of the rounding error of an effect: (n_outputs,), output unit.

        It follows the arithmetic behind the effects: float32 where the model computes in it,
        float64 where the engine adds up trees.
        """

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        """Compute effects of single features, in their order.

        Parameters
        ----------
        weights : (n_replicates, n_rows)
            Replace the background's, several at once, at no further prediction.
        """

    def joint(
        self, groups: Sequence[tuple[int, ...]], weights: Matrix | None = None
    ) -> Iterator[Joint]:
        """Compute effects of pairs or triples, in their order; `weights` as in `single`.

        `single`, and for triples the pairs, must have been computed with the same weights
        before.
        """

    def batches(self, weights: Array) -> Iterator[Array]:
        """Split weights into batches that the engine computes at once.

        Parameters
        ----------
        weights : (n_rows,), or (n_sets, n_rows)
            The first set is the background's own.
        """

    def batch_count(self, replicate_count: int) -> int:
        """Return the number of batches for the background's weights and `replicate_count` more."""

    def restrict(self, background: Background) -> RowEffects:
        """Return the same engine on other rows of the same table."""

    def for_joint(self, order: int) -> RowEffects:
        """Return the engine for effects of several features.

        `self`, or the same engine on a sample of its rows, in their order, where the cost of joint
        effects grows with the square of the rows and that of single ones does not.

        Parameters
        ----------
        order : int
            Most features in a group.
        """

    def cost(self, features: Sequence[int]) -> int:
        """Bound the rows to predict for effects of features together, at the rows' own values."""

    def pair_allowance(self) -> float:
        """Return how many pairs take little time, by counts alone, which are the same anywhere."""

    def release(self, rows: int) -> None:
        """Release a plan of `rows` rows."""


class Effects(RowEffects, Protocol):
    """An engine bound to a model and a background."""

    def own_and_others(
        self, groups: Sequence[Group], weights: Matrix | None = None
    ) -> Iterator[tuple[Array, Array]]:
        r"""Compute F_G and F_\G of groups of features, as those of `single`, in their order.

        Parameters
        ----------
        groups : sequence of tuples of int
            Not all features, and none that the model is known to ignore.
        weights : (n_replicates, n_rows)
            As in `single`.
        """

    def wholes(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Array]:
        """Compute F_G of groups of features of any size, as `Joint.whole`; likewise."""

    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        """Compute effects at points, one (n_points,) array per feature: (n_points, n_outputs)."""

    def curves(self, requests: Sequence[tuple[Sequence[int], Sequence[Array]]]) -> Iterator[Matrix]:
        """Compute several curves, each by its features and points, in one cache round trip."""

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        """Predict each row with features moved: (n_rows, n_points, n_outputs).

        Parameters
        ----------
        points : one (n_points,) array per feature
        """

    def permuted(self, features: Sequence[int], permutations: Sequence[Indices]) -> list[Matrix]:
        """Predict with features permuted between rows, once per permutation: (n_rows, n_outputs).

        A permutation holds, for each row, the row that its features' values come from.
        """

    def mixed(self, explained: Background, mixture: RowMixture) -> Matrix:
        """Predict rows that are mixed of rows explained and those of the background."""

    def exact_attributions(self) -> ExactAttributions | None:
        """Return the engine that attributes in closed form; None where none is known."""

    def cached(
        self, identity: bytes, shape: tuple[int, int], rows: int, compute: Callable[[], Matrix]
    ) -> Matrix:
        """Memoize numbers that are no effect: (n_results, n_columns).

        Parameters
        ----------
        identity : bytes
            All that they depend on beside model, rows, weights, scale and outputs.
        rows : int
            Rows that `compute` predicts.
        """

    def restrict(self, background: Background) -> Effects: ...

    def for_joint(self, order: int) -> Effects: ...

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:
        """Bound the rows to predict at `n_points` points; None: at the rows' own values."""


@runtime_checkable
class CategoryEngine(Protocol):
    """An engine of a model of which it is known how it uses its features."""

    @property
    def categories(self) -> frozenset[int]:
        """Features that the model only looks up or tests for equality, see `core.model`."""


@runtime_checkable
class UnusedFeatures(Protocol):
    """An engine of a model of which it is known which features it ignores."""

    @property
    def unused(self) -> frozenset[int]:
        """Features that the outputs certainly ignore."""


@runtime_checkable
class PiecewiseConstant(Protocol):
    """An engine of models that are piecewise constant in features, with known breakpoints."""

    def breakpoints(self, feature: int) -> Vector | None:
        """Return the values of a feature at which a prediction may change: (n,), ascending.

        None for a feature that a prediction does not depend on in steps, or in steps not known.

        Predictions are constant from each breakpoint up to, but not including, the next one,
        whatever the other features are. The values are exact in the type in which the model
        takes the feature; a text feature has none.
        """
