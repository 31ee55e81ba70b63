"""Path shares: the share of rows that take the branches of a leaf's path, player by player."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Counts, Int32Vector, Vector
from onnxplain_server.trees.kernels.compile import kernel
from onnxplain_server.trees.reading.ensemble import Ensemble


def path_shares(
    ensemble: Ensemble,
    leaf_shares: Vector,
    player_of: Int32Vector,
    player_start: Counts,
    player: Int32Vector,
) -> Vector:
    """Multiply the shares of the branches on each leaf's path by players: (n_leaf_players,).

    A branch's share is that of the rows that take it, of those that reach its node; a half where
    none does.

    Parameters
    ----------
    leaf_shares : (n_leaves,)
        Shares of the rows that reach each leaf.
    player_of : (n_features,)
        Player of each feature.
    player_start, player
        As in `LeafPlayers`.
    """
    reached = np.zeros(len(ensemble.feature))
    reached[ensemble.leaf] = leaf_shares
    _add_to_parents(ensemble.leaf, ensemble.parent, reached)
    shares = np.ones(len(player))
    _multiply(
        ensemble.leaf, ensemble.parent, ensemble.feature, reached, player_of, player_start,
        player, shares,
    )  # fmt: skip
    return shares


@kernel
def _add_to_parents(leaf: Int32Vector, parent: Int32Vector, reached: Vector) -> None:
    """Add each leaf's share to all nodes above it."""
    for own in leaf:
        node = parent[own]
        while node >= 0:
            reached[node] += reached[own]
            node = parent[node]


@kernel
def _multiply(
    leaf: Int32Vector,
    parent: Int32Vector,
    feature: Int32Vector,
    reached: Vector,
    player_of: Int32Vector,
    player_start: Counts,
    player: Int32Vector,
    shares: Vector,
) -> None:
    """Multiply the shares of branches on the paths of leaves into those of the leaves' players."""
    for i in range(len(leaf)):
        node = leaf[i]
        while parent[node] >= 0:
            above = parent[node]
            owner = player_of[feature[above]]
            share = reached[node] / reached[above] if reached[above] > 0 else 0.5
            for slot in range(player_start[i], player_start[i + 1]):
                if player[slot] == owner:
                    shares[slot] *= share
            node = above
