r"""Effects of sets of features of any size, at the rows.

A leaf with value v and the features F on its path contributes to the effect of a set S

    F_S(x) = Σ over leaves of v C[F minus S] [x meets the conditions on S]

with C[F minus S] the share of the rows that meet its conditions on all other features. So a set
takes one count of the rows and one sum over leaves, however large it is; effects of single
features and pairs are found together, and faster, by `CountingStrategy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.effects.background import combine
from onnxplain_server.trees.counting.all_but_one import all_but_one_effects
from onnxplain_server.trees.counting.bitset_counting import BitsetCounter
from onnxplain_server.trees.counting.boxes import Boxes
from onnxplain_server.trees.counting.missed_conditions import count_missed
from onnxplain_server.trees.counting.ranked_rows import RankedRows, build_bitsets, number_sets
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.reading.ensemble import Ensemble


class SetEffects:
    """Effects of sets of features.

    Parameters
    ----------
    ensemble : Ensemble
    boxes : Boxes
        Of its leaves.
    ranked : RankedRows
    pool : BlockPool

    Notes
    -----
    Cost: time grows with leaves times rows / 64, and with the leaves whose conditions on the set
    a row meets; of rows that are equal in the set, with one.
    """

    def __init__(
        self, ensemble: Ensemble, boxes: Boxes, ranked: RankedRows, pool: BlockPool
    ) -> None:
        self._ensemble = ensemble
        self._boxes = boxes
        self._ranked = ranked
        self._pool = pool
        self._features = range(len(ranked.codes))
        self._numbers = number_sets(ensemble, list(ranked.codes), self._features)

    def at_rows(self, features: Sequence[int]) -> Matrix:
        """Compute the effect of a set, which is not all features: (n, n_targets)."""
        inside = np.isin(self._boxes.feature, features)
        shares = self._met_shares(self._boxes.only(~inside))
        values = np.zeros_like(self._boxes.values)
        reached = shares > 0  # values of other leaves may be infinite
        values[reached] = self._boxes.values[reached] * shares[reached, np.newaxis]
        has_inside = np.zeros(len(values), np.bool_)
        has_inside[self._boxes.leaf[inside]] = True
        constant: Vector = values[~has_inside].sum(axis=0)
        boxes = replace(self._boxes.only(inside), values=values).take(has_inside & reached)
        return constant + self._sum(boxes, features)

    def _sum(self, boxes: Boxes, features: Sequence[int]) -> Matrix:
        """Add up the values of the leaves that each row meets: (n, n_targets)."""
        ranked = self._ranked
        first, inverse = combine([ranked.codes[j].astype(np.intp) for j in features])
        codes = np.ascontiguousarray(ranked.codes[:, first])
        points = replace(ranked, codes=codes, shares=ranked.shares[first])
        # No leaf has conditions on a feature that is not in the set: all but it is the whole sum.
        other = next(j for j in self._features if j not in features)
        sums = all_but_one_effects(boxes, points, self._numbers, [other], self._pool)[0]
        at_rows: Matrix = sums[inverse]
        return at_rows

    def _met_shares(self, boxes: Boxes) -> Vector:
        """Return the share of the rows that meet all conditions of each leaf: (n_leaves,)."""
        missed = count_missed(boxes, self._numbers, self._ranked, [], self._pool)
        if missed is not None:
            return missed.reached()
        bits = build_bitsets(self._ensemble, list(self._ranked.codes), self._features)
        leaves = np.arange(len(boxes.values), dtype=np.int32)
        none = np.zeros((len(leaves), 0), np.int32)
        counter = BitsetCounter(boxes, self._ranked, bits)
        shares: Vector = counter.count(leaves, none, self._pool).ravel()
        return shares
