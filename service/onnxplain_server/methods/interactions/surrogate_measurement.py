"""Measurement of interaction statistics by a surrogate and few predictions of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations

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
_SINGLE_SHARE = 0.4
"""Share of the predictions that goes to single features."""
_LEAST_SIZE = 0.02
"""Size of a pair's interaction, beside that of the predictions, that any pair is thought to have
when predictions are shared out."""


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
        self._limit = prediction_count
        weights = rows.background.weights
        unit = HYBRIDS * len(self.features)
        count = max(int(_SINGLE_SHARE * prediction_count / unit), FEWEST_BLOCKS)
        count = max(min(count, prediction_count // unit), 2)
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
    def units_left(self) -> int:
        """Blocks of one pair that may still be predicted."""
        return (self._limit - self.predicted_count) // HYBRIDS

    def run(self, choose_pairs: PairChoice) -> Sequence[MeasuredOutput]:
        """Predict hybrids, first of features and then of pairs, and estimate by outputs."""
        count = len(self._sample.blocks)
        self._sample.add({(j,): count for j in self.features})
        sizes = self._sizes()
        self.pairs = choose_pairs(sizes)
        chosen = {pair: sizes.pairs[pair] for pair in self.pairs}
        self._sample.add(share_out(chosen, self.units_left, count))
        return [self._measured(k) for k in range(self._rows.outputs.shape[1])]

    def _sizes(self) -> SurrogateSizes:
        pairs = list(combinations(self.features, 2))
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
        of("total", (), contrasts.total(single), counts[single[0]])
        for pair in self.pairs:
            count = counts.get(pair, 0)
            of("pairwise", pair, contrasts.pairwise(pair[:1], pair[1:], pair), count)
            of("joint", pair, contrasts.whole(pair), count)
        return MeasuredOutput(parts, fitted.fidelity)


def share_out(sizes: Mapping[Group, float], units: int, most: int) -> dict[Group, int]:
    """Share blocks out over pairs in proportion to their sizes.

    The variance of an estimate grows with its numerator, so that standard errors are alike.

    Parameters
    ----------
    sizes : mapping of pair to float
        Beside the size of the predictions.
    units : int
        Blocks of one pair each.
    most : int
        Blocks that there are.

    Returns
    -------
    dict of pair to int
        Pairs without blocks are left out; others have 2 at least, and `FEWEST_BLOCKS` where that
        is possible for all.
    """
    if not sizes or units < 2:
        return {}
    pairs = sorted(sizes, key=lambda pair: -sizes[pair])
    least = min(FEWEST_BLOCKS, most) if units >= FEWEST_BLOCKS * len(pairs) else 2
    pairs = pairs[: units // least]
    weights = np.array([sizes[pair] + _LEAST_SIZE for pair in pairs])
    counts = np.full(len(pairs), float(least))
    for _ in range(len(pairs)):
        is_open = counts < most
        slack = units - counts.sum()
        if slack < 1 or not is_open.any():
            break
        more = slack * weights * is_open / weights[is_open].sum()
        counts = np.minimum(counts + more, most)
    return {pair: int(count) for pair, count in zip(pairs, counts, strict=True)}


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
