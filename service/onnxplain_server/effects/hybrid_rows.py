"""Hybrid rows of features with few values: each is predicted once and reused by larger groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix
from onnxplain_server.effects.background import Background, combine
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.effect_cache import CacheKey, EffectCache
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.effects.sweeping.moved_rows import MovedRows
from onnxplain_server.effects.sweeping.sweep import ANY_NUMBERS, Averages, Shares
from onnxplain_server.effects.weighted_mean import over_points, over_rows

_FEW_LEVELS = 20
"""Most values of a feature for which skipping rows that have a value already saves time."""

Group: TypeAlias = tuple[int, ...]

_MAX_MEMO_BYTES = 32 << 20
"""For predictions that larger groups may reuse."""

_MAX_CACHED_BYTES = 1 << 20
"""Size of a group's predictions up to which they are cached: larger ones are predicted again."""


class HybridRows:
    """Sweeps over the combinations of values of a group, with predictions shared between groups.

    A row that already has one of the values equals a hybrid row of the group without that
    feature, so only rows that differ in every feature are predicted: with two features of two
    values each, a quarter of the rows for each of four combinations.

    Parameters
    ----------
    predictor : Predictor
    background : Background
    cache : EffectCache
    outputs : callable () -> (n_rows, n_outputs)
        Predictions of the unchanged rows.
    """

    def __init__(
        self,
        predictor: Predictor,
        background: Background,
        cache: EffectCache,
        outputs: Callable[[], Matrix],
    ) -> None:
        self._predictor = predictor
        self._unplanned = predictor.unplanned()
        self._background = background
        self._cache = cache
        self._outputs = outputs
        self._combinations: dict[Group, tuple[Indices, Indices]] = {}
        self._chosen: dict[Group, bool] = {}
        self._reusable: set[Group] = {()}
        self._memo: dict[Group, Cube] = {}
        self._free_bytes = _MAX_MEMO_BYTES

    def choose(self, group: Group, merged_rows: Callable[[], int]) -> bool:
        """Return whether to sweep a group this way: where that is cheaper than whole tables.

        The choice depends on the rows and on the groups chosen before, never on what is cached:
        a number that is found is the one that would be computed.

        Parameters
        ----------
        merged_rows : callable () -> int
            Number of rows that differ in other features than the group's.

        Notes
        -----
        Gathering single rows takes time: with the fastest models, as much as predicting twice
        as many in whole tables.
        """
        if group not in self._chosen:
            self._chosen[group] = self._pays(group, merged_rows)
            if self._chosen[group] and self._cube_bytes(group) <= self._free_bytes:
                self._free_bytes -= self._cube_bytes(group)
                self._reusable.add(group)
        return self._chosen[group]

    def _pays(self, group: Group, merged_rows: Callable[[], int]) -> bool:
        levels = self._background.levels
        if any(len(levels[j]) > _FEW_LEVELS for j in group):
            return False
        if not all(part in self._reusable for _, part in _without_one(group)):
            return False
        first, _ = self._combined(group)
        new = sum(int(self._new(group, first[span]).sum()) for span in self._spans(first))
        rows = len(first) * merged_rows()
        return new <= (rows if len(group) == 1 else rows // 2)

    def _cube_bytes(self, group: Group) -> int:
        points = len(self._combined(group)[0])
        return 8 * points * len(self._background) * len(self._predictor.output_names)

    @ANY_NUMBERS
    def sweep(self, group: Group, shares: Shares) -> Averages:
        """Average as `Sweeper.sweep` does, over the ascending combinations of the rows' values."""
        cube = self._memo.get(group)
        if cube is None:
            with self._predictor.unit():
                cube = self._predict(group, self._predictor)
                if group in self._reusable:
                    self._memo[group] = cube
                    if cube.nbytes <= _MAX_CACHED_BYTES:
                        self._cache.put(self._key(group), cube.reshape(-1, cube.shape[2]))
        return Averages(over_rows(shares.rows, cube), over_points(shares.points, cube)).in_order()

    def _key(self, group: Group) -> CacheKey:
        n_points = len(self._combined(group)[0])
        return CacheKey(f"hybrid rows {group}", n_points * len(self._background))

    def _moved(self, group: Group) -> Cube:
        """Return the predictions of a smaller group, which its averages may have been found of."""
        if group not in self._memo:
            if group:
                cached = self._cache.get([self._key(group)])[0]
                shape = (-1, len(self._background), len(self._predictor.output_names))
                found = None if cached is None else cached.reshape(shape)
                # The plan has its rows already: they were found.
                self._memo[group] = (
                    self._predict(group, self._unplanned) if found is None else found
                )
            else:
                self._memo[group] = self._outputs()[None]
        return self._memo[group]

    def _predict(self, group: Group, predictor: Predictor) -> Cube:
        first, _ = self._combined(group)
        for _, part in _without_one(group):
            self._moved(part)
        blocks = predictor.in_parallel(
            lambda span: self._block(group, first[span], predictor), self._spans(first)
        )
        return np.concatenate(blocks)

    def _combined(self, group: Group) -> tuple[Indices, Indices]:
        """Return a row with each combination of values, and the combination of each row."""
        if group not in self._combinations:
            everywhere = np.zeros(len(self._background), dtype=np.intp)
            codes = [self._background.codes[j] for j in group] or [everywhere]
            self._combinations[group] = combine(codes)
        return self._combinations[group]

    def _spans(self, first: Indices) -> list[slice]:
        """Cut points into blocks of about the largest batch."""
        length = max(1, BatchSize.LARGEST // len(self._background))
        return [slice(start, start + length) for start in range(0, len(first), length)]

    def _same(self, feature: int, at: Indices) -> Array:
        """Mark rows with the feature's value at each position: (n_at, n_rows)."""
        codes = self._background.codes[feature]
        same: Array = codes[at][:, None] == codes
        return same

    def _new(self, group: Group, at: Indices) -> Array:
        """Mark rows that differ in every feature from the row at each position: (n_at, n_rows)."""
        new: Array = ~np.any([self._same(j, at) for j in group], axis=0)
        return new

    def _block(self, group: Group, at: Indices, predictor: Predictor) -> Cube:
        """Predict all rows with the combination at each position: (n_at, n_rows, n_outputs)."""
        new = self._new(group, at)
        predicted = np.empty((*new.shape, len(self._predictor.output_names)))
        for feature, rest in _without_one(group):
            same = self._same(feature, at)
            predicted[same] = self._memo[rest][self._combined(rest)[1][at]][same]
        point, row = np.nonzero(new)
        if len(row):
            moved = MovedRows(predictor, self._background)
            predicted[new] = moved.with_features_of(group, at, row, point)
        predictor.ledger.release(new.size - len(row))
        return predicted


def _without_one(group: Group) -> Iterator[tuple[int, Group]]:
    """Yield each feature of a group with the rest of the group."""
    for j in group:
        yield j, tuple(k for k in group if k != j)
