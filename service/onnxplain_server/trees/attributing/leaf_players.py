"""Players of leaves: the features of a leaf's conditions, or the groups that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Counts, Int32Vector, Matrix
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.counting.boxes import Boxes
from onnxplain_server.trees.reading.ensemble import CellSets

_MOST_PLAYERS = 62
"""Players of a leaf, whose patterns are numbers of 64 bits."""


class LeafPlayers(NamedTuple):
    """Leaves with their conditions and players, as kernels take them.

    Attributes
    ----------
    leaf_start : (n_leaves + 1,)
        Leaf l has the conditions leaf_start[l] to leaf_start[l + 1].
    feature : (n_conditions,)
    met : CellSets
        Cells that meet each condition.
    place : (n_conditions,)
        Bit of the condition's player in the leaf's patterns.
    player_start : (n_leaves + 1,)
        Leaf l has the players player_start[l] to player_start[l + 1], in the order of their bits.
    player : (n_leaf_players,)
    values : (n_leaves, n_targets)
    """

    leaf_start: Int32Vector
    feature: Int32Vector
    met: CellSets
    place: Int32Vector
    player_start: Counts
    player: Int32Vector
    values: Matrix

    @property
    def counts(self) -> Counts:
        """Number of players of each leaf."""
        return np.diff(self.player_start)


def find_leaf_players(boxes: Boxes, players: Sequence[tuple[int, ...]]) -> LeafPlayers:
    """Find the players of each leaf; a leaf satisfies one where all its conditions are met.

    Parameters
    ----------
    players : sequence of tuples of int
        Features of each player. Each feature is in exactly one.

    Raises
    ------
    ExplainError
        INVALID_OPTION where a leaf has more than 62 players.
    """
    player_of = np.empty(sum(map(len, players)), dtype=np.int64)
    for number, features in enumerate(players):
        player_of[list(features)] = number
    owners = boxes.leaf.astype(np.int64) * len(players) + player_of[boxes.feature]
    distinct, inverse = np.unique(owners, return_inverse=True)
    leaves, player = np.divmod(distinct, len(players))
    player_start = np.zeros(len(boxes.values) + 1, dtype=np.int64)
    player_start[1:] = np.cumsum(np.bincount(leaves, minlength=len(boxes.values)))
    place = inverse - player_start[boxes.leaf]
    _check_patterns(int(np.diff(player_start).max(initial=0)))
    return LeafPlayers(
        boxes.start,
        boxes.feature,
        boxes.met,
        place.astype(np.int32),
        player_start,
        player.astype(np.int32),
        np.ascontiguousarray(boxes.values),
    )


def _check_patterns(most: int) -> None:
    if most > _MOST_PLAYERS:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"a leaf of the model depends on {most} features, and the trees engine attributes to "
            f"{_MOST_PLAYERS} at most; ask for BLACK_BOX, or put features into groups",
            "engine",
        )
