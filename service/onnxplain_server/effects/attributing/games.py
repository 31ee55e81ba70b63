"""Games between features: who plays, and the rules by which values average what they add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Counts, Cube, Vector
from onnxplain_server.core.contract_limits import AttributionsOptions
from onnxplain_server.effects.background import Background

Perturbation: TypeAlias = AttributionsOptions.Perturbation
"""What stands in for features that are not in a coalition."""

GameValue: TypeAlias = AttributionsOptions.Value
"""How the worth of coalitions is shared."""


@dataclass(frozen=True, slots=True)
class Game:
    """A game for the prediction of a row, whose players are features or groups of them.

    Attributes
    ----------
    perturbation : Perturbation
    value : GameValue
    order : int
        1: values of players; 2: interactions of pairs too.
    """

    perturbation: Perturbation
    value: GameValue
    order: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Attributed:
    """Values of rows.

    Attributes
    ----------
    values : (n_rows, n_players, n_outputs)
    interactions : (n_rows, n_pairs, n_outputs)
        Of pairs in lexicographic order; none for order 1.
    """

    values: Cube
    interactions: Cube


class ExactAttributions(Protocol):
    """An engine that knows the values of a game in closed form."""

    @property
    def has_paths(self) -> bool:
        """Return whether its model has branches, whose shares stand in for features."""

    def attribute(
        self, explained: Background, players: Sequence[tuple[int, ...]], game: Game
    ) -> Attributed:
        """Compute the values of rows, without predicting.

        Parameters
        ----------
        explained : Background
            The rows, one by one; their weights have no part.
        players : sequence of tuples of int
            Features of each player. Each feature is in exactly one.
        """


class Rules(NamedTuple):
    """Points of the multilinear extension that values average its derivatives over.

    Attributes
    ----------
    nodes, weights : (n_nodes,)
        Of the rules for all numbers of players, one after the other.
    start : (most players + 2,)
        The rule for d players has the nodes from start[d] to start[d + 1].
    """

    nodes: Vector
    weights: Vector
    start: Counts

    def of(self, size: int) -> tuple[Vector, Vector]:
        """Return nodes and weights of the rule for a number of players."""
        span = slice(self.start[size], self.start[size + 1])
        return self.nodes[span], self.weights[span]

    def all_moments(self) -> Cube:
        """Average t^a (1 - t)^b over each rule, (n_rules, n_powers, n_powers), all powers up to d.

        Where a + b < d, the rule for d players averages them without error but rounding.
        """
        powers = np.arange(len(self.start) - 1)
        rules = (self.of(size) for size in powers.tolist())
        return np.stack([
            (nodes[:, None] ** powers * weights[:, None]).T @ (1 - nodes[:, None]) ** powers
            for nodes, weights in rules
        ])  # fmt: skip


def rules_of(value: GameValue, most: int) -> Rules:
    """Return the rules for up to `most` players.

    Derivatives for d players are polynomials of degree d - 1, which Gauss and Legendre's rule of
    half as many nodes averages over [0, 1] without error but rounding.
    """
    parts = [_rule(value, size) for size in range(most + 1)]
    start = np.zeros(most + 2, dtype=np.int64)
    start[1:] = np.cumsum([len(nodes) for nodes, _ in parts])
    nodes, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Rules(nodes, weights, start)


def _rule(value: GameValue, size: int) -> tuple[Vector, Vector]:
    match value:
        case GameValue.SHAPLEY:
            nodes, weights = np.polynomial.legendre.leggauss(max(1, -(-size // 2)))
            return (nodes + 1) / 2, weights / 2
        case GameValue.BANZHAF:
            return np.array([0.5]), np.array([1.0])
