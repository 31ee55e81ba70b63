"""Attributions of rows by sums of terms: each term is a game of the features that it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from onnxplain_server.additive.averages import row_shares
from onnxplain_server.additive.model import Pair
from onnxplain_server.additive.summed_rows import SummedRows
from onnxplain_server.core.arrays import Cube, Indices, Matrix
from onnxplain_server.effects.attributing.games import Attributed, Game
from onnxplain_server.effects.background import Background, sum_by_code
from onnxplain_server.effects.row_predictions import check_finite, not_finite


def attribute(
    rows: SummedRows, explained: Background, players: Sequence[tuple[int, ...]], game: Game
) -> Attributed:
    """Share the terms of rows among players; see `ExactAttributions.attribute`.

    A term of one feature is its player's, less its average over the background. With T(x, x) the
    term of a pair, T(x, z) its average with the row's own value of the first feature, and so on,
    the first player has half of T(x, z) - T(z, z) + T(x, x) - T(z, x), as Shapley and as Banzhaf
    value, and both together T(x, x) - T(x, z) - T(z, x) + T(z, z).
    """
    player_of = {j: number for number, features in enumerate(players) for j in features}
    theirs, shares = rows.terms_of(explained), row_shares(rows.background, None)[0]
    values = np.zeros((len(explained), len(players), rows.model.sum_count))
    for j, terms in theirs.items():
        mean = sum_by_code(shares, rows.background.codes[j]) @ rows.terms[j]
        values[:, player_of[j]] += terms - mean
    kinds = rows.kinds_of(explained)
    pairs = list(combinations(range(len(players)), 2)) if game.order > 1 else []
    interactions = np.zeros((len(explained), len(pairs), rows.model.sum_count))
    places = {pair: place for place, pair in enumerate(pairs)}
    for pair in rows.pairs:
        both, first, second, none = _worths(rows, pair, kinds)
        one, other = (player_of[j] for j in pair)
        if one == other:
            values[:, one] += both - none
            continue
        values[:, one] += (first - none + both - second) / 2
        values[:, other] += (second - none + both - first) / 2
        if pairs:
            interactions[:, places[min(one, other), max(one, other)]] += (
                both - first - second + none
            )
    check_finite(values.sum(axis=1), lambda wrong: not_finite(explained, wrong))
    return Attributed(values, interactions)


def _worths(
    rows: SummedRows, pair: Pair, kinds: Mapping[int, Indices]
) -> tuple[Matrix, Matrix, Matrix, Cube]:
    """Average a pair's term with both, the first, the second and none of a row's own values."""
    table, shares = rows.table(pair), row_shares(rows.background, None)[0]
    one, other = (rows.row_kinds(j) for j in pair)
    own, others = (kinds[j] for j in pair)
    weights = [np.bincount(k, shares, n) for k, n in zip((one, other), table.shape, strict=False)]
    first = np.tensordot(table, weights[1], (1, 0))[own]
    second = np.tensordot(weights[0], table, (0, 0))[others]
    return table[own, others], first, second, shares @ table[one, other]
