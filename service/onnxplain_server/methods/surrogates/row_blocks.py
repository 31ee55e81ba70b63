"""Blocks of rows, whose hybrids are predicted: each row's values of a group on each other row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector

Group = tuple[int, ...]
Predict = Callable[[Indices], Matrix]
"""Predicts hybrid rows, given by the row that each feature's value is taken from:
(n_hybrids, n_features) -> (n_hybrids, n_outputs)."""

BLOCK = 5
"""Rows of a block."""
BASE, BACKGROUND = np.nonzero(~np.eye(BLOCK, dtype=bool))
"""Pairs of different places in a block."""
HYBRIDS = len(BASE)
"""Hybrid rows of a block and a group."""
_AT_ONCE = 4_000_000
"""Most numbers of hybrid rows in memory."""


def draw_blocks(weights: Vector, count: int, random: np.random.Generator) -> Indices:
    """Draw blocks of rows: (count, BLOCK).

    Rows of a block are independent draws by weight. Where weights are equal, each place of the
    blocks has every row equally often, as far as their number allows.
    """
    row_count = len(weights)
    if np.ptp(weights) > 0:
        return random.choice(row_count, (count, BLOCK), p=weights / weights.sum())
    rounds = -(-count // row_count)
    places = [
        np.concatenate([random.permutation(row_count) for _ in range(rounds)])[:count]
        for _ in range(BLOCK)
    ]
    return np.stack(places, axis=1)


def sources(blocks: Indices, group: Group, feature_count: int) -> Indices:
    """Return the rows that features of all hybrids of blocks come from.

    Returns
    -------
    (n_blocks * HYBRIDS, n_features)
    """
    rows = np.repeat(blocks[:, BACKGROUND].reshape(-1, 1), feature_count, axis=1)
    rows[:, list(group)] = blocks[:, BASE].reshape(-1, 1)
    return rows


@dataclass(frozen=True, eq=False)
class BlockValues:
    """Values of a function at hybrid rows: values[g][b, i, k] with the group of i, the rest of k.

    The hybrid of a row and itself is the row.

    Attributes
    ----------
    blocks : (n_blocks, BLOCK)
    by_group : mapping of group to (n_blocks_of_group, BLOCK, BLOCK)
        A group is known in the first blocks.
    """

    blocks: Indices
    by_group: Mapping[Group, Array]

    def at(self, group: Group, count: int) -> Array:
        """Return the values of the first blocks: (count, BLOCK, BLOCK)."""
        values: Array = self.by_group[group][:count]
        return values


class HybridSample:
    """Sample of hybrid rows of a model, predicted group by group.

    Parameters
    ----------
    predict : Predict
    outputs : (n_rows, n_outputs)
        Predictions of the rows.
    blocks : (n_blocks, BLOCK)
    feature_count : int
    """

    def __init__(
        self, predict: Predict, outputs: Matrix, blocks: Indices, feature_count: int
    ) -> None:
        self._predict = predict
        self._outputs = outputs
        self._feature_count = feature_count
        self.blocks = blocks
        self.counts: dict[Group, int] = {}
        self._values: dict[Group, Array] = {}

    def extend(self, counts: Mapping[Group, int]) -> None:
        """Predict the hybrids of groups in so many of the first blocks, as far as not yet known."""
        for groups in self._pieces(counts):
            rows = [self._sources(group, counts[group]) for group in groups]
            predicted = self._predict(np.concatenate(rows))
            ends = np.cumsum([len(own) for own in rows])[:-1]
            for group, values in zip(groups, np.split(predicted, ends), strict=True):
                known = self._values.get(group)
                self._values[group] = values if known is None else np.concatenate([known, values])
                self.counts[group] = counts[group]

    def _sources(self, group: Group, count: int) -> Indices:
        new = self.blocks[self.counts.get(group, 0) : count]
        return sources(new, group, self._feature_count)

    def _pieces(self, counts: Mapping[Group, int]) -> Iterator[Sequence[Group]]:
        """Yield groups that are predicted at once."""
        piece: list[Group] = []
        size = 0
        for group, count in counts.items():
            own = (count - self.counts.get(group, 0)) * HYBRIDS * self._feature_count
            if own <= 0:
                continue
            if piece and size + own > _AT_ONCE:
                yield piece
                piece, size = [], 0
            piece.append(group)
            size += own
        if piece:
            yield piece

    def values(self, output: int) -> BlockValues:
        """Return the predictions of one output."""
        hybrids = {
            group: values[:, output].reshape(-1, HYBRIDS) for group, values in self._values.items()
        }
        return as_block_values(self.blocks, hybrids, self._outputs[self.blocks, output])

    def training(self, output: int, left_out: Array) -> tuple[Indices, Vector]:
        """Return the hybrids of blocks that are not left out, with one output of them.

        Parameters
        ----------
        left_out : (n_blocks,) bool

        Returns
        -------
        (n_hybrids, n_features), (n_hybrids,)
        """
        rows, values = [], []
        for group, count in self.counts.items():
            kept = np.flatnonzero(~left_out[:count])
            own = self._values[group][:, output].reshape(count, HYBRIDS)[kept]
            rows.append(sources(self.blocks[kept], group, self._feature_count))
            values.append(own.ravel())
        return np.concatenate(rows), np.concatenate(values)


def as_block_values(blocks: Indices, hybrids: Mapping[Group, Matrix], rows: Matrix) -> BlockValues:
    """Arrange values by places in blocks.

    Parameters
    ----------
    hybrids : mapping of group to (n_blocks_of_group, HYBRIDS)
    rows : (n_blocks, BLOCK)
        Values of the rows themselves.
    """
    arranged = {}
    places = np.arange(BLOCK)
    for group, values in hybrids.items():
        square = np.empty((len(values), BLOCK, BLOCK))
        square[:, BASE, BACKGROUND] = values
        square[:, places, places] = rows[: len(values)]
        arranged[group] = square
    return BlockValues(blocks, arranged)
