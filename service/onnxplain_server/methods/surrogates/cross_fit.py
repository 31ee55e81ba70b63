"""Cross-fitted surrogates: each predicts the blocks that it was not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Flags, Indices, Matrix, Vector
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.methods.surrogates.boosted_trees import BoostedTrees, fit_trees
from onnxplain_server.methods.surrogates.row_blocks import (
    BACKGROUND,
    BASE,
    HYBRIDS,
    BlockValues,
    HybridSample,
    as_block_values,
    sources,
)
from onnxplain_server.trees.exact import Exact
from onnxplain_server.trees.leaves import Leaves

FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class EncodedRows:
    """Rows as surrogates see them: the rank of each value among those of its feature.

    Trees depend on the order of values only, and hybrids have no other values than the rows.

    Attributes
    ----------
    codes : (n_rows, n_features)
    weights : (n_rows,)
    """

    codes: Matrix
    weights: Vector

    @classmethod
    def of(cls, background: Background) -> EncodedRows:
        """Rank the values of rows; missing ones come last, and text by the alphabet."""
        codes = np.stack([codes.astype(np.float64) for codes in background.codes], axis=1)
        return cls(codes, background.weights)

    def hybrids(self, sources: Indices) -> Matrix:
        """Return hybrid rows, by the row that each feature comes from."""
        return self.codes[sources, np.arange(self.codes.shape[1])]

    def background(self) -> Background:
        """Return the rows as a background."""
        count, width = self.codes.shape
        names = tuple(map(str, range(width)))
        dtypes = (np.dtype(np.float64),) * width
        features = Features(names, tuple(self.codes.T.copy()), dtypes, "rows")
        return unmerged(features, self.weights, np.arange(count))


@dataclass(frozen=True, slots=True, eq=False)
class FoldSurrogate:
    """Surrogate of one output, fitted without the blocks of a fold.

    Attributes
    ----------
    left_out : (n_blocks,) bool
        Blocks of the fold.
    effects : Exact
        Its effects on the rows.
    values : BlockValues
        Its predictions of hybrids, of all blocks.
    """

    left_out: Flags
    effects: Exact
    values: BlockValues


@dataclass(frozen=True, slots=True, eq=False)
class CrossFit:
    """Surrogates of one output, by folds of blocks.

    Attributes
    ----------
    folds : tuple of FoldSurrogate
    fidelity : float
        R² on hybrid rows, of which no surrogate has seen those that it predicts.
    """

    folds: tuple[FoldSurrogate, ...]
    fidelity: float


Surrogate = Callable[[Matrix, Vector, int], BoostedTrees]
"""Fits a surrogate to rows, their values and with a seed."""


class SurrogateFitting:
    """Fitting of surrogates to a sample of hybrid rows.

    Parameters
    ----------
    rows : EncodedRows
    outputs : (n_rows, n_outputs)
    seed : int
    threads : ThreadPoolExecutor
    ledger : Ledger
        Hears of the work on trees, outside the plan.
    fit : Surrogate
    """

    def __init__(  # noqa: PLR0917 - its parts
        self,
        rows: EncodedRows,
        outputs: Matrix,
        seed: int,
        threads: ThreadPoolExecutor,
        ledger: Ledger,
        fit: Surrogate = fit_trees,
    ) -> None:
        self._rows = rows
        self._outputs = outputs
        self._seed = seed
        self._threads = threads
        self._ledger = ledger
        self._fit = fit
        self._background = rows.background()

    def whole(self, sample: HybridSample, output: int) -> Exact:
        """Fit a surrogate to all predictions so far, and return its effects."""
        return self._exact(self._fitted(sample, output, np.zeros(len(sample.blocks), np.bool_)))

    def cross_fit(self, sample: HybridSample, output: int) -> CrossFit:
        """Fit a surrogate for each fold."""
        count = len(sample.blocks)
        fold = np.arange(count) % min(FOLDS, count)
        left_out = [fold == number for number in range(int(fold.max()) + 1)]

        def fit(own: Flags) -> tuple[BoostedTrees, BlockValues]:
            trees = self._fitted(sample, output, own)
            return trees, self._values(sample, trees)

        fitted = [*self._threads.map(fit, left_out)]  # before effects, which need these threads
        folds = [
            FoldSurrogate(own, self._exact(trees), values)
            for own, (trees, values) in zip(left_out, fitted, strict=True)
        ]
        return CrossFit(tuple(folds), _fidelity(sample.values(output), folds))

    def _values(self, sample: HybridSample, trees: BoostedTrees) -> BlockValues:
        width = self._rows.codes.shape[1]
        guesses = {}
        for group, count in sample.counts.items():
            hybrids = self._rows.hybrids(sources(sample.blocks[:count], group, width))
            guesses[group] = trees.predict(hybrids).reshape(-1, HYBRIDS)
        rows = trees.predict(self._rows.codes)[sample.blocks]
        return as_block_values(sample.blocks, guesses, rows)

    def _fitted(self, sample: HybridSample, output: int, left_out: Flags) -> BoostedTrees:
        hybrids, values = sample.training(output, left_out)
        rows = np.concatenate([self._rows.codes, self._rows.hybrids(hybrids)])
        target = np.concatenate([self._outputs[:, output], values])
        return self._fit(rows, target, self._seed)

    def _exact(self, trees: BoostedTrees) -> Exact:
        leaves = Leaves(trees.ensemble)
        output = np.zeros(1, dtype=np.intp)
        parts = self._background, ("surrogate",), output, self._ledger, self._threads
        return Exact(trees.ensemble, leaves, *parts)


def _fidelity(true: BlockValues, folds: Sequence[FoldSurrogate]) -> float:
    values, errors = [], []
    for group, own in true.by_group.items():
        for fold in folds:
            unseen = fold.left_out[: len(own)]
            seen_by_none = own[unseen][:, BASE, BACKGROUND].ravel()
            guessed = fold.values.by_group[group][unseen][:, BASE, BACKGROUND].ravel()
            values.append(seen_by_none)
            errors.append(seen_by_none - guessed)
    spread = float(np.var(np.concatenate(values)))
    return float(1 - np.mean(np.concatenate(errors) ** 2) / spread) if spread > 0 else 1.0
