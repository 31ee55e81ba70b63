"""Passes as data: what to sum over the rows, by groups of features and arrays, and how to sum it.

A pass says what each of its tasks sums: with the trees, and blocks of rows, nothing else is needed.
So a task computes the same in this process as in another one that got all three as bytes
(`encoding`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix
from onnxplain_server.trees.counting.missed_conditions import MissedLayout, MissedShares
from onnxplain_server.trees.counting.ranked_rows import rank_rows
from onnxplain_server.trees.groups import parts_of
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.axes import Axis
from onnxplain_server.trees.reading.ensemble import CellSets, Ensemble
from onnxplain_server.trees.streaming.block_effects import AffineOutputs, BlockEffects, predict_rows
from onnxplain_server.trees.streaming.blocks import RowBlock, Sums, add_up
from onnxplain_server.trees.streaming.counts import CountSums, Group, LeafCounter
from onnxplain_server.trees.streaming.moments import SeriesMoments
from onnxplain_server.trees.streaming.pure_tables import PureTables

Summed: TypeAlias = Callable[[RowBlock, BlockPool], Sums]
"""Sums over the rows of one block; the pool is one of the calling thread alone."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeSums:
    """Trees, and the outputs that are explained: all that a pass needs of a model.

    Attributes
    ----------
    ensemble : Ensemble
    outputs : AffineOutputs
    """

    ensemble: Ensemble
    outputs: AffineOutputs


def predicting(trees: TreeSums, leaves: Leaves) -> Callable[[RowBlock, BlockPool], Matrix]:
    """Return a function that predicts the rows of a block: (n, n_outputs)."""
    leaves.descent()  # before threads need it

    def predicted(block: RowBlock, pool: BlockPool) -> Matrix:
        codes = rank_rows(trees.ensemble, block.background, pool, total=1.0).codes
        return predict_rows(leaves, trees.outputs, block.background, codes, pool)

    return predicted


class Pass(Protocol):
    """Description of sums over all rows."""

    @property
    def evaluations(self) -> int:
        """Rows that the plan counts for each row of the table."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Columns that are read beside the features: see `RowBlocks.read`."""

    def prepare(self, trees: TreeSums, leaves: Leaves, pool: BlockPool) -> Summed:
        """Compute once what all blocks need.

        Parameters
        ----------
        leaves : Leaves
            Of the ensemble, or of one that differs in `matrix` and `offset` only.
        """


class FeaturePass:
    """Base of passes that look at the features of each row once, and at nothing else."""

    __slots__ = ()

    @property
    def evaluations(self) -> int:
        return 1

    @property
    def columns(self) -> None:
        return None


@dataclass(frozen=True, slots=True, eq=False)
class CountPass(FeaturePass):
    """Counts of the rows in the boxes of leaves: sums are `CountSums`.

    Attributes
    ----------
    groups : tuple of tuples of int
        Groups of features whose conditions are lifted; all parts of each are counted too.
    """

    groups: tuple[Group, ...]

    def counter(self, leaves: Leaves, pool: BlockPool) -> LeafCounter:
        """Return the counter of these groups."""
        return LeafCounter(leaves, leaves.boxes(pool), all_parts(self.groups))

    def prepare(self, trees: TreeSums, leaves: Leaves, pool: BlockPool) -> Summed:  # noqa: ARG002 - of the protocol
        counter = self.counter(leaves, pool)
        return lambda block, pool: counter.count(block.background, pool)


@dataclass(frozen=True, slots=True, eq=False)
class KeyedSums:
    """Sums of some groups of rows, by the numbers of the groups that have rows.

    Attributes
    ----------
    parts : dict of int to Sums
    """

    parts: dict[int, Any]

    def add(self, later: KeyedSums) -> None:
        """Add the sums of later rows."""
        for key, sums in later.parts.items():
            if key in self.parts:
                self.parts[key].add(sums)
            else:
                self.parts[key] = sums


class RowGrouping(Protocol):
    """Division of rows by the values of a column: a dataclass of text and arrays."""

    def codes(self, column: Array) -> Indices:
        """Return the group of each row: (n_rows,)."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupCountPass:
    """Counts as of a `CountPass`, of several groups of rows: sums are `KeyedSums`.

    Attributes
    ----------
    groups : tuple of tuples of int
        Groups of features.
    column : str
        Divides the rows.
    grouping : RowGrouping
    wanted : tuple of int
        Groups of rows to count.
    """

    groups: tuple[Group, ...]
    column: str
    grouping: RowGrouping
    wanted: tuple[int, ...]

    @property
    def evaluations(self) -> int:
        return 1

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def prepare(self, trees: TreeSums, leaves: Leaves, pool: BlockPool) -> Summed:  # noqa: ARG002 - of the protocol
        counter = LeafCounter(leaves, leaves.boxes(pool), all_parts(self.groups))

        def counted(block: RowBlock, pool: BlockPool) -> KeyedSums:
            codes = self.grouping.codes(block.rows.column(self.column))
            rows = {code: np.flatnonzero(codes == code) for code in self.wanted}
            background = block.background
            return KeyedSums(
                {
                    code: counter.count(background.take(own), pool)
                    for code, own in rows.items()
                    if len(own)
                }
            )

        return counted


class EffectsMeasure(Protocol):
    """Sums over the effects at the rows: a dataclass of numbers, text and arrays."""

    def __call__(self, effects: BlockEffects, /) -> Sums:
        """Sum over the rows of one block."""


@dataclass(frozen=True, slots=True, eq=False)
class EffectsPass:
    """Effects at the rows, of which a measure makes sums.

    Attributes
    ----------
    counts : CountSums
        Of all rows, for `groups` and their parts.
    groups : tuple of tuples of int
        Groups whose effects the measure asks for.
    measure : EffectsMeasure
    """

    counts: CountSums
    groups: tuple[Group, ...]
    measure: Callable[[BlockEffects], Sums]

    @property
    def evaluations(self) -> int:
        return len(self.groups)

    @property
    def columns(self) -> None:
        return None

    def prepare(self, trees: TreeSums, leaves: Leaves, pool: BlockPool) -> Summed:
        ensemble, parts = trees.ensemble, all_parts(self.groups)
        counts = LeafCounter(leaves, leaves.boxes(pool), parts).finish(self.counts)
        tables = PureTables(ensemble, counts, parts)

        def measured(block: RowBlock, pool: BlockPool) -> Sums:
            rows = block.background
            return self.measure(BlockEffects(ensemble, trees.outputs, counts, tables, rows, pool))

        return measured


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """Sums of nothing."""

    def add(self, later: Checked) -> None:
        """Add nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class CheckedOutputs:
    """Measure that checks predictions: NON_FINITE_PREDICTION names the rows."""

    def __call__(self, effects: BlockEffects) -> Checked:
        effects.outputs()
        return Checked()


def run_task(
    summed: Summed, blocks: Iterable[RowBlock], pool: BlockPool, advance: Callable[[int], None]
) -> Sums | None:
    """Sum over the blocks of one task.

    Parameters
    ----------
    advance : callable (int) -> None
        Told the rows of each block before they are summed; raises where nobody waits any more.

    Returns
    -------
    Sums or None
        None where no row has a weight.
    """

    def each() -> Iterator[Sums]:
        for block in blocks:
            advance(block.row_count)
            yield summed(block, pool)

    return add_up(each())


def all_parts(groups: Sequence[Group]) -> list[Group]:
    """Return all groups of some of the features of a group, each once."""
    return list(dict.fromkeys(part for group in groups for part in parts_of(group)))


CLASSES: tuple[type, ...] = (
    *(TreeSums, Ensemble, Axis, CellSets, AffineOutputs),
    *(CountPass, GroupCountPass, EffectsPass, CheckedOutputs),
    *(CountSums, MissedShares, MissedLayout, SeriesMoments, KeyedSums, Checked),
)
"""Classes of trees, passes and sums, for their encoding; measures of methods come in addition."""
