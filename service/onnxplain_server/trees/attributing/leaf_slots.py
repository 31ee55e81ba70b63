"""Leaf slots: numbers that leaves add to, and the places of their tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Counts, Flags, Int32Vector
from onnxplain_server.trees.attributing.leaf_players import LeafPlayers
from onnxplain_server.trees.reading.ensemble import Int32Array

MOST_TABLE_PLAYERS = 16
"""Most players of a leaf whose values are tabulated for all patterns, whatever the rows."""
_CHUNK_NUMBERS = 1 << 22
"""Numbers of the tables that are kept at a time: 32 MiB."""
_CHUNK_SLOTS = 1 << 19
"""Slots that are laid out at a time: 10 MiB, and some times as much while they are."""


class LeafSlots(NamedTuple):
    """Numbers that a leaf adds to: values of its players, or of their pairs.

    Attributes
    ----------
    start : (n_leaves + 1,)
    number : (n_slots,)
        Row of the sums that each belongs to.
    table : (n_slots,)
        Where its table begins, of 2^d numbers.
    """

    start: Counts
    number: Int32Vector
    table: Counts


def lay_out_slots(leaves: LeafPlayers, order: int, player_count: int, is_used: Flags) -> LeafSlots:
    """Lay out the slots and tables of leaves; those that are not used have none."""
    counts = leaves.counts
    slot_counts = np.where(is_used, slot_counts_of(counts, order), 0)
    start = np.zeros(len(counts) + 1, dtype=np.int64)
    start[1:] = np.cumsum(slot_counts)
    number = np.empty(int(start[-1]), dtype=np.int32)
    for size in np.unique(counts[slot_counts > 0]):
        own = np.flatnonzero((counts == size) & (slot_counts > 0))
        player = leaves.player[leaves.player_start[own][:, None] + np.arange(size)]
        numbers = player if order == 1 else _pair_numbers(player, player_count)
        number[start[own][:, None] + np.arange(numbers.shape[1])] = numbers
    sizes = np.repeat(np.left_shift(1, np.minimum(counts, MOST_TABLE_PLAYERS)), slot_counts)
    table = np.zeros(len(sizes) + 1, dtype=np.int64)
    table[1:] = np.cumsum(sizes)
    return LeafSlots(start, number, table)


def _pair_numbers(player: Int32Array, player_count: int) -> Int32Array:
    """Number the pairs of players of leaves, in lexicographic order: (n_leaves, n_pairs)."""
    one, two = np.triu_indices(player.shape[1], 1)
    first, second = player[:, one].astype(np.int64), player[:, two]
    numbers = first * (2 * player_count - first - 1) // 2 + second - first - 1
    return numbers.astype(np.int32)


def slot_counts_of(counts: Counts, order: int) -> Counts:
    """Return the slots of leaves with so many players: one for each player, or for each pair."""
    return counts if order == 1 else counts * (counts - 1) // 2


def spans_of_slots(slot_counts: Counts) -> Iterator[tuple[int, int]]:
    """Divide leaves so that the slots of each part fit into memory."""
    yield from spans_of(np.append(0, np.cumsum(slot_counts)), _CHUNK_SLOTS)


def spans_of(ends: Counts, most: int = _CHUNK_NUMBERS) -> Iterator[tuple[int, int]]:
    """Divide entries so that the numbers of each part, which end there, fit into memory."""
    first, count = 0, len(ends) - 1
    while first < count:
        last = int(np.searchsorted(ends, ends[first] + most, side="right")) - 1
        last = min(max(last, first + 1), count)
        yield first, last
        first = last


def from_leaf(slots: LeafSlots, first: int) -> LeafSlots:
    """Let tables begin with that of a leaf."""
    return slots._replace(table=slots.table - slots.table[slots.start[first]])
