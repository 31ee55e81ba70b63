"""Measurement of interaction statistics by a surrogate and few predictions of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.methods.surrogates import contrasts
from onnxplain_server.methods.surrogates.boosted_trees import fit_trees
from onnxplain_server.methods.surrogates.corrected import (
    CorrectedBlocks,
    Correction,
    weighted_variance,
)
from onnxplain_server.methods.surrogates.cross_fit import (
    EncodedRows,
    FoldSurrogate,
    Surrogate,
    SurrogateFitting,
)
from onnxplain_server.methods.surrogates.row_blocks import (
    HYBRIDS,
    Group,
    HybridSample,
    Predict,
    draw_blocks,
)
from onnxplain_server.trees.exact import Exact

FEWEST_BLOCKS = 4
"""Blocks of a statistic, where a request asks for it."""
_FIRST_SHARE = 0.2
"""Share of the predictions that goes to single features before any size is known."""
_MORE_BLOCKS = 8
"""Times as many blocks that the strongest interactions may get."""
_LEAST_SIZE = 0.02
"""Size of an interaction, beside that of the predictions, that any feature or pair is thought to
have when predictions are shared out."""
_BISECTIONS = 40
_FIRST_ROUND, _GROWTH = 1_000, 3
"""Hybrids of the first round at least, and times as many that each further one has."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelRows:
    """Rows of a model, and how hybrids of them are predicted.

    Attributes
    ----------
    background : Background
    outputs : (n_rows, n_outputs)
        Predictions of the rows.
    predict : Predict
    """

    background: Background
    outputs: Matrix
    predict: Predict


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredOutput:
    """Numerators of one output, by order and features, and pairs' denominators as "joint".

    Attributes
    ----------
    parts : mapping of (order, group) to CorrectedBlocks
    fidelity : float
        R² of surrogates on hybrid rows that they have not seen.
    """

    parts: Mapping[tuple[str, Group], CorrectedBlocks]
    fidelity: float


def needed_predictions(feature_count: int, pair_count: int) -> int:
    """Return the fewest hybrids from which features and pairs are estimated."""
    of_features = FEWEST_BLOCKS * HYBRIDS * feature_count
    return of_features + FEWEST_BLOCKS * HYBRIDS * pair_count


@dataclass(frozen=True, slots=True, eq=False)
class SurrogateSizes:
    r"""Sizes of effects by a surrogate, before pairs are predicted.

    Attributes
    ----------
    overall : (n_features, n_outputs)
        Mean squares of f - F_j - F_\j.
    pairs : mapping of pair to float
        Size of the interaction beside that of the predictions, in the output where it is largest.
    """

    overall: Matrix
    pairs: Mapping[Group, float]


PairChoice = Callable[[SurrogateSizes], Sequence[Group]]
"""Chooses pairs by their sizes by a surrogate."""


class SurrogateMeasurement:
    """Measurement of single features and pairs.

    Parameters
    ----------
    rows : ModelRows
    features : sequence of int
        Features considered; the model may use others.
    prediction_count : int
        Most hybrids to predict.
    seed : int
    threads : ThreadPoolExecutor
    ledger : Ledger
        For the work on trees, outside the plan.
    fit : Surrogate

    Attributes
    ----------
    features : list of int
    pairs : sequence of pairs
        Those chosen by `run`.
    """

    def __init__(  # noqa: PLR0917 - its parts
        self,
        rows: ModelRows,
        features: Sequence[int],
        prediction_count: int,
        seed: int,
        threads: ThreadPoolExecutor,
        ledger: Ledger,
        fit: Surrogate = fit_trees,
    ) -> None:
        self._rows = rows
        self.features = [*features]
        self._budget = self._limit = prediction_count
        weights, count = rows.background.weights, _MORE_BLOCKS * self._first
        blocks = draw_blocks(weights, count, np.random.default_rng(seed))
        width = len(rows.background.columns)
        self._sample = HybridSample(rows.predict, rows.outputs, blocks, width)
        encoded = EncodedRows.of(rows.background)
        self._fitting = SurrogateFitting(encoded, rows.outputs, seed, threads, ledger, fit)
        self.pairs: Sequence[Group] = ()

    @property
    def predicted_count(self) -> int:
        """Hybrids predicted so far."""
        return HYBRIDS * sum(self._sample.counts.values())

    @property
    def is_spent(self) -> bool:
        """Return whether no round is left."""
        return self._limit == self._budget

    @property
    def units_left(self) -> int:
        """Blocks of one pair that may still be predicted."""
        return (self._limit - self.predicted_count) // HYBRIDS

    @property
    def _first(self) -> int:
        """Blocks of each feature before pairs are known."""
        unit = HYBRIDS * len(self.features)
        count = max(int(_FIRST_SHARE * self._limit / unit), FEWEST_BLOCKS)
        return max(min(count, self._limit // unit), 2)

    def rounds(self, choose_pairs: PairChoice) -> Iterator[Sequence[MeasuredOutput]]:
        """Estimate by outputs from ever more hybrids: each time from three times as many."""
        limits = [self._budget]
        while limits[0] > _GROWTH * max(_FIRST_ROUND, self._fewest):
            limits.insert(0, limits[0] // _GROWTH)
        for self._limit in limits:
            yield self.run(choose_pairs)

    @property
    def _fewest(self) -> int:
        return needed_predictions(len(self.features), comb(len(self.features), 2))

    def run(self, choose_pairs: PairChoice) -> Sequence[MeasuredOutput]:
        """Predict hybrids, first of features and then of pairs, and estimate by outputs."""
        single: list[Group] = [(j,) for j in self.features]
        self._sample.extend(dict.fromkeys(single, self._first))
        sizes = self._sizes()
        self.pairs = choose_pairs(sizes)
        relative = np.sqrt(sizes.overall / np.maximum(self.squares, np.finfo(float).tiny))
        known = dict(zip(single, relative.max(axis=1).tolist(), strict=True))
        known |= {pair: sizes.pairs[pair] for pair in self.pairs}
        counts = {group: self._sample.counts.get(group, 0) for group in known}
        self._sample.extend(share_out(known, self.units_left, self._first, _MORE_BLOCKS, counts))
        return [self._measured(k) for k in range(self._rows.outputs.shape[1])]

    def _sizes(self) -> SurrogateSizes:
        pairs: list[Group] = [*combinations(self.features, 2)]
        sizes = dict.fromkeys(pairs, 0.0)
        weights, spreads = self._rows.background.weights, np.sqrt(self.squares)
        overall = np.zeros((len(self.features), len(spreads)))
        for k, spread in enumerate(spreads):
            effects = self._fitting.whole(self._sample, k)
            terms = _terms(effects, self.features, pairs)
            for place, j in enumerate(self.features):
                overall[place, k] = weighted_variance(terms["overall", (j,)], weights)
            for pair in pairs if spread > 0 else ():
                own = np.sqrt(weighted_variance(terms["pairwise", pair], weights)) / spread
                sizes[pair] = max(sizes[pair], float(own))
        return SurrogateSizes(overall, sizes)

    @property
    def squares(self) -> Vector:
        """Mean squares of the centred predictions of the rows: (n_outputs,)."""
        weights = self._rows.background.weights
        return np.array([weighted_variance(column, weights) for column in self._rows.outputs.T])

    def _measured(self, output: int) -> MeasuredOutput:
        fitted = self._fitting.cross_fit(self._sample, output)
        weights = self._rows.background.weights
        correction = Correction(self._sample.values(output), fitted, weights)
        terms = {id(fold): _terms(fold.effects, self.features, self.pairs) for fold in fitted.folds}

        def of(order: str, group: Group, contrast: contrasts.Contrast, count: int) -> None:
            def term(fold: FoldSurrogate) -> Vector:
                return terms[id(fold)][order, group]

            parts[order, group] = correction.of(contrast, term, count)

        parts: dict[tuple[str, Group], CorrectedBlocks] = {}
        single, counts = [(j,) for j in self.features], self._sample.counts
        for own in single:
            of("overall", own, contrasts.overall(own), counts[own])
            of("importance", own, contrasts.importance(own), counts[own])
        of("total", (), contrasts.total(single), min(counts[own] for own in single))
        for pair in self.pairs:
            count = counts.get(pair, 0)
            of("pairwise", pair, contrasts.pairwise(pair[:1], pair[1:], pair), count)
            of("joint", pair, contrasts.whole(pair), count)
        return MeasuredOutput(parts, fitted.fidelity)


def share_out(
    sizes: Mapping[Group, float],
    units: int,
    first: int,
    more: int,
    counts: Mapping[Group, int],
) -> dict[Group, int]:
    """Share blocks out over features and pairs in proportion to the sizes of their interactions.

    The variance of an estimate grows with its numerator, so that standard errors are alike.

    Parameters
    ----------
    sizes : mapping of feature or pair to float
        Beside the size of the predictions.
    units : int
        Blocks of one group each that may be added.
    first : int
        Blocks in which features are known.
    more : int
        Times as many blocks that there are.
    counts : mapping of feature or pair to int
        Blocks that are predicted, which each keeps.

    Returns
    -------
    dict of group to int
        Blocks of each. Pairs have `FEWEST_BLOCKS` at least, or 2 where these do not suffice for
        all, and those of the smallest interactions may have none. Features have those of their
        pairs.
    """
    fewest = _fewest_blocks(sizes, units, first, counts)
    most = first * more
    low, high = 0.0, most / _LEAST_SIZE
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        added = sum(_blocks_at(middle, sizes, fewest, most).values()) - sum(counts.values())
        low, high = (middle, high) if added <= units else (low, middle)
    return _blocks_at(low, sizes, fewest, most)


def _fewest_blocks(
    sizes: Mapping[Group, float], units: int, first: int, counts: Mapping[Group, int]
) -> dict[Group, int]:
    """Return blocks that features, and as many pairs as there are units for, have in any case."""
    pairs = sorted((g for g in sizes if len(g) > 1), key=lambda pair: -sizes[pair])
    features = [g for g in sizes if len(g) == 1]
    least = min(FEWEST_BLOCKS, first) if units >= FEWEST_BLOCKS * len(pairs) else 2
    fewest = dict.fromkeys(features, first) | dict.fromkeys(pairs[: units // least], least)
    known = {group: count for group, count in counts.items() if count}
    return fewest | {group: max(count, fewest.get(group, 0)) for group, count in known.items()}


def _blocks_at(
    rate: float, sizes: Mapping[Group, float], fewest: Mapping[Group, int], most: int
) -> dict[Group, int]:
    """Return blocks in proportion to sizes, between the fewest and the most; whole ones."""
    counts = {
        group: max(int(min(rate * (sizes[group] + _LEAST_SIZE), most)), least)
        for group, least in fewest.items()
    }
    for pair in (group for group in fewest if len(group) > 1):
        for j in pair:
            counts[j,] = max(counts[j,], counts[pair])
    return counts


def _terms(
    effects: Exact, features: Sequence[int], pairs: Sequence[Group]
) -> dict[tuple[str, Group], Vector]:
    r"""Return exact terms of a surrogate; see `contrasts`."""
    f = effects.outputs()[:, 0]
    terms: dict[tuple[str, Group], Vector] = {("total", ()): f.copy()}
    for single in effects.single(features):
        own, others = single.own[:, 0], single.others[:, 0]
        terms["total", ()] -= own
        terms["overall", (single.feature,)] = f - own - others
        terms["importance", (single.feature,)] = f - others
    for joint in effects.joint(pairs):
        terms["pairwise", joint.features] = joint.pure[:, 0]
        terms["joint", joint.features] = joint.whole[:, 0]
    return terms
