"""Choice of pairs where a request does not say which: all that are cheap, or else the strongest.

A pair's interaction is part of those of both its features, so that for independent features its
numerator is at most the smaller one of their overall statistics. A screen measures pairs on few
rows. Most pairs are chosen by the screen, the rest by what it leaves unexplained of the overall
statistics: a pair that acts together in few rows may have none of them in the screen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, compress
from math import comb

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.core.row_draws import draw
from onnxplain_server.effects.engine import RowEffects
from onnxplain_server.effects.weighted_mean import center, mean_square

Pair = tuple[int, ...]

FEWEST_PAIRS, FEWEST_PER_OUTPUT = 10, 5
_MOST_PAIRS = 990
"""All pairs of 45 features."""
_FEWEST_ROWS, _ROW_SHARE = 32, 8
"""Rows of a screen: the fewest, and how many times as many its pairs are measured on."""
_SCREEN_PART = 2
"""Cost of the pairs beside that of their screen, without its single features."""
_SCREENED_SHARE = 0.7
"""Share of the pairs that are chosen by the screen alone."""


def pair_limit(allowance: float, feature_count: int, output_count: int, repeats: int) -> int | None:
    """Return how many pairs are measured; None for all.

    Parameters
    ----------
    allowance : float
        Number of pairs that the engine measures in little time; see `Effects.pair_allowance`.
    repeats : int
        How often a pair is measured anew, on resampled or permuted rows.
    """
    fewest = max(FEWEST_PAIRS, FEWEST_PER_OUTPUT * output_count)
    limit = max(fewest, int(min(allowance / (1 + repeats), _MOST_PAIRS)))
    return None if comb(feature_count, 2) <= limit else limit


def usual_pair_effects(feature_count: int) -> int:
    """Return how many effects of two features the pairs of one output cost, with their screen."""
    every = comb(feature_count, 2)
    return every if every <= FEWEST_PAIRS else FEWEST_PAIRS + FEWEST_PAIRS // _SCREEN_PART + 1


def most_pairs(feature_count: int) -> int:
    """Return the most pairs that are measured where a request does not say which."""
    return min(comb(feature_count, 2), _MOST_PAIRS)


class PairScreen:
    """Screen of pairs on few of the rows of an engine.

    Parameters
    ----------
    effects : RowEffects
        The engine of pairs.
    positions : sequence of int
        Features.
    limit : int
        Number of pairs that are wanted.

    Attributes
    ----------
    cost : int
        Upper bound of the rows to predict.
    """

    def __init__(self, effects: RowEffects, positions: Sequence[int], limit: int) -> None:
        rows = len(effects.background)
        few = draw(effects.background.source, max(_FEWEST_ROWS, rows // _ROW_SHARE), 0)
        self._effects = effects.restrict(effects.background.take(few))
        dearest = sorted(positions, key=lambda j: -effects.cost((j,)))[:2]
        of_pair, of_screened = effects.cost(dearest), self._effects.cost(dearest)
        affordable = limit * of_pair // (_SCREEN_PART * of_screened) if of_screened else limit
        self._count = max(limit, affordable)
        most = min(self._count, comb(len(positions), 2))
        singles = sum(self._effects.cost((j,)) for j in positions)
        self.cost = len(few) + singles + most * of_screened

    def measure(self, bounds: Mapping[Pair, Vector]) -> dict[Pair, Vector]:
        """Return the numerators of the most promising pairs: (n_outputs,) each.

        Parameters
        ----------
        bounds : mapping of pair to (n_outputs,)
            Smaller overall numerator of both features.
        """
        pairs = sorted(_in_turns(bounds, self._count))
        features = sorted({j for pair in pairs for j in pair})
        groups = [*((j,) for j in features), *pairs]
        weights = self._effects.background.weights
        self._effects.release(self.cost - len(weights) - sum(map(self._effects.cost, groups)))
        self._effects.outputs()  # which engines may need for single features
        for _ in self._effects.single(features):
            pass
        return {
            joint.features: mean_square(center(joint.pure, weights), weights)
            for joint in self._effects.joint(pairs)
        }

    def leave_out(self) -> None:
        """Release the plan of a screen that is not needed."""
        self._effects.release(self.cost)


def smaller_overall(overall: Mapping[int, Vector]) -> dict[Pair, Vector]:
    """Return the smaller overall numerator of each pair, without pairs where it is 0."""
    if not overall:
        return {}
    features = sorted(overall)
    numerators = np.array([overall[j] for j in features])
    first, second = np.triu_indices(len(features), 1)
    bounds = np.minimum(numerators[first], numerators[second])
    pairs = combinations(features, 2)
    is_positive = (bounds > 0).any(axis=1)
    return dict(compress(zip(pairs, bounds, strict=True), is_positive))


def choose_pairs(
    bounds: Mapping[Pair, Vector], screened: Mapping[Pair, Vector], limit: int
) -> list[Pair]:
    """Return the pairs that are measured, in table order.

    Parameters
    ----------
    bounds : mapping of pair to (n_outputs,)
        As `smaller_overall` returns them, of more than `limit` pairs.
    screened : mapping of pair to (n_outputs,)
        Numerators by the screen; empty where there is none.
    """
    sizes = {pair: np.minimum(own, bounds[pair]) for pair, own in screened.items()}
    chosen = set(_in_turns(sizes, round(_SCREENED_SHARE * limit)))
    unexplained = _unexplained(bounds, sizes)
    left = {pair: unexplained[pair] for pair in bounds if pair not in chosen}
    return sorted((*chosen, *_in_turns(left, limit - len(chosen))))


def _unexplained(
    bounds: Mapping[Pair, Vector], sizes: Mapping[Pair, Vector]
) -> Mapping[Pair, Vector]:
    """Return what pairs may have beyond all that the screen found of their features."""
    pairs, most = np.array(list(bounds)), np.array(list(bounds.values()))
    found = np.array([sizes.get(pair, np.zeros(most.shape[1])) for pair in bounds])
    rest = np.zeros((pairs.max() + 1, most.shape[1]))
    for members in pairs.T:
        np.maximum.at(rest, members, most)
    for members in pairs.T:
        np.subtract.at(rest, members, found)
    left = np.minimum(rest[pairs[:, 0]], rest[pairs[:, 1]]) + found
    return dict(zip(bounds, np.maximum(left, 0), strict=True))


def _in_turns(values: Mapping[Pair, Vector], count: int) -> Iterator[Pair]:
    """Yield pairs, the largest of each output in turn, as scales of outputs may differ."""
    pairs = list(values)
    if not pairs or count <= 0:
        return
    ranked = np.argsort(-np.array(list(values.values())), axis=0, kind="stable")
    taken = dict.fromkeys(pairs[place] for row in ranked for place in row)
    yield from list(taken)[:count]
