"""What an engine of effects gives: partial dependence at the rows, and on grids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol, runtime_checkable

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.effects.background import Background


@dataclass(frozen=True, slots=True, eq=False)
class Single:
    r"""Partial dependence on one feature, and on all others; not centred.

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
        What is left of it when all that fewer of the features do is taken away,
        up to a constant: F_jk - F_j - F_k, or
        F_jkl - F_jk - F_jl - F_kl + F_j + F_k + F_l.
    error : (n_outputs,) or None
        Estimated bound of the root mean square error of `pure`, where effects are interpolated:
        by the triangle inequality, the sum over all that it is made of.
    """

    features: tuple[int, ...]
    whole: Array
    pure: Array
    error: Vector | None = None


def pure_effect(group: tuple[int, ...], effects: Mapping[tuple[int, ...], Array]) -> Array:
    """Take from an effect what fewer of its features do, by inclusion and exclusion."""
    pure = effects[group].copy()
    for size in range(1, len(group)):
        sign = (-1) ** (len(group) - size)
        for part in combinations(group, size):
            pure += sign * effects[part]
    return pure


class Effects(Protocol):
    """An engine, bound to a model and to rows."""

    @property
    def background(self) -> Background:
        """The rows averaged over, at which the effects are evaluated too."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, in the order of all arrays."""

    def outputs(self) -> Matrix:
        """Predictions at the rows: (n_rows, n_outputs)."""

    def rounding_error(self) -> Vector:
        """By how much rounding may change an effect: (n_outputs,), output unit.

        It follows the arithmetic that makes the effects: float32 where a model computes in it,
        float64 where its trees are added up.
        """

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        """Effects of single features, in their order.

        Parameters
        ----------
        weights : (n_replicates, n_rows)
            Instead of the background's, several at once: no row is predicted
            more often for that.
        """

    def joint(
        self, groups: Sequence[tuple[int, ...]], weights: Matrix | None = None
    ) -> Iterator[Joint]:
        """Effects of pairs, or of triples, in their order; `weights` as in `single`.

        The single features, and for triples the pairs, must have been asked
        for with the same weights before.
        """

    def batches(self, weights: Array) -> Iterator[Array]:
        """Split weights into what the engine computes at once.

        Parameters
        ----------
        weights : (n_rows,), or (n_sets, n_rows)
            The first set is the background's own.
        """

    def batch_count(self, replicate_count: int) -> int:
        """How many batches there will be for the background's weights and so many more."""

    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        """Effect at points, one (n_points,) array per feature: (n_points, n_outputs)."""

    def curves(self, asked: Sequence[tuple[Sequence[int], Sequence[Array]]]) -> Iterator[Matrix]:
        """Several of `curve`, each by its features and points, looked up in one round trip."""

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        """Predictions of each row with features moved: (n_rows, n_points, n_outputs).

        Parameters
        ----------
        points : one (n_points,) array per feature
        """

    def permuted(self, features: Sequence[int], orders: Sequence[Indices]) -> list[Matrix]:
        """Predictions with features taken from other rows, once per order: (n_rows, n_outputs).

        `orders` hold, for each row, the row that its features' values come from.
        """

    def cached(
        self, question: bytes, shape: tuple[int, int], rows: int, compute: Callable[[], Matrix]
    ) -> Matrix:
        """Numbers that are no effect, from the cache or computed: (n_results, n_columns).

        Parameters
        ----------
        question : bytes
            All that they depend on beside model, rows, weights, scale and outputs.
        rows : int
            Rows that computing them predicts.
        """

    def restrict(self, background: Background) -> Effects:
        """The same engine on other rows of the same table."""

    def for_joint(self) -> Effects:
        """The same engine on the rows that effects of several features should be computed on.

        Itself, or on a draw from its rows, in their order, where their cost grows with the
        square of the rows and that of single features does not.
        """

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:
        """Upper bound of the rows to predict at so many points; None: at the rows' own values."""

    def release(self, rows: int) -> None:
        """Take back a plan of so many rows."""


@runtime_checkable
class PiecewiseConstant(Protocol):
    """An engine of models whose answers change at known numbers of a feature only."""

    def breakpoints(self, feature: int) -> Vector:
        """Numbers of a feature at which the answer may change: (n,), ascending.

        From each of them up to, and without, the next one no answer changes, whatever the
        other features are. In the type in which the model takes the feature; of a feature
        that is text there are none.
        """
