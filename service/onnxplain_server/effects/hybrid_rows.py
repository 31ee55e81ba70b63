"""Hybrid rows of features with few values: each is predicted once and reused by larger groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix
from onnxplain_server.effects.background import Background, combine
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.effects.sweep import Averages, Shares, over_points, over_rows

_FEW_LEVELS = 20
"""Most values of a feature for which skipping rows that have a value already saves time."""

_MAX_MEMO_BYTES = 32 << 20
"""For predictions that larger groups may reuse."""


@dataclass(frozen=True, slots=True, eq=False)
class _MovedPredictions:
    """Predictions of all rows with a group of features moved.

    Attributes
    ----------
    cube : (n_points, n_rows, n_outputs)
        For each distinct combination of the features' values.
    codes : (n_rows,)
        Position of each row's own combination.
    """

    cube: Cube
    codes: Indices


class HybridRows:
    """Sweeps over the combinations of values of a group, with predictions shared between groups.

    A row that already has one of the values equals a hybrid row of the group without that
    feature, so only rows that differ in every feature are predicted: with two features of two
    values each, a quarter of the rows for each of four combinations.

    Parameters
    ----------
    predictor : Predictor
    background : Background
    outputs : callable () -> (n_rows, n_outputs)
        Predictions of the unchanged rows.
    """

    def __init__(
        self, predictor: Predictor, background: Background, outputs: Callable[[], Matrix]
    ) -> None:
        self._predictor = predictor
        self._background = background
        self._outputs = outputs
        self._memo: dict[tuple[int, ...], _MovedPredictions] = {}
        self._free_bytes = _MAX_MEMO_BYTES

    def pays(self, group: tuple[int, ...], rows: int) -> bool:
        """Return whether this is cheaper than predicting `rows` rows; the parts must be memoized.

        Gathering single rows takes time: with the fastest models, as much as predicting twice
        as many in whole tables.
        """
        levels = self._background.levels
        if any(len(levels[j]) > _FEW_LEVELS for j in group):
            return False
        if not all(len(part) == 0 or part in self._memo for _, part in _without_one(group)):
            return False
        first, _ = self._combined(group)
        new = sum(int(self._new(group, first[span]).sum()) for span in self._spans(first))
        return new <= (rows if len(group) == 1 else rows // 2)

    def sweep(self, group: tuple[int, ...], shares: Shares) -> Averages:
        """Average as `Sweeper.sweep` does, over the ascending combinations of the rows' values."""
        first, codes = self._combined(group)
        if () not in self._memo:
            outputs = self._outputs()
            self._memo[()] = _MovedPredictions(outputs[None], np.zeros(len(outputs), dtype=np.intp))
        blocks = self._predictor.in_parallel(
            lambda span: self._block(group, first[span]), self._spans(first)
        )
        cube = np.concatenate(blocks)
        if cube.nbytes <= self._free_bytes:
            self._free_bytes -= cube.nbytes
            self._memo[group] = _MovedPredictions(cube, codes)
        return Averages(over_rows(shares.rows, cube), over_points(shares.points, cube))

    def _combined(self, group: tuple[int, ...]) -> tuple[Indices, Indices]:
        return combine([self._background.codes[j] for j in group])

    def _spans(self, first: Indices) -> list[slice]:
        """Cut points into blocks of about the largest batch."""
        length = max(1, BatchSize.LARGEST // len(self._background))
        return [slice(start, start + length) for start in range(0, len(first), length)]

    def _same(self, feature: int, at: Indices) -> Array:
        """Mark rows with the feature's value at each position: (n_at, n_rows)."""
        codes = self._background.codes[feature]
        same: Array = codes[at][:, None] == codes
        return same

    def _new(self, group: tuple[int, ...], at: Indices) -> Array:
        """Mark rows that differ in every feature from the row at each position: (n_at, n_rows)."""
        new: Array = ~np.any([self._same(j, at) for j in group], axis=0)
        return new

    def _block(self, group: tuple[int, ...], at: Indices) -> Cube:
        """Predict all rows with the combination at each position: (n_at, n_rows, n_outputs)."""
        new = self._new(group, at)
        predicted = np.empty((*new.shape, len(self._predictor.output_names)))
        for feature, rest in _without_one(group):
            memo, same = self._memo[rest], self._same(feature, at)
            predicted[same] = memo.cube[memo.codes[at]][same]
        point, row = np.nonzero(new)
        if len(row):
            columns = [column[row] for column in self._background.columns]
            for j in group:
                columns[j] = self._background.columns[j][at][point]
            predicted[new] = self._predictor.predict_rows(self._background.features, columns)
        self._predictor.ledger.release(new.size - len(row))
        return predicted


def _without_one(group: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each feature of a group with the rest of the group."""
    for j in group:
        yield j, tuple(k for k in group if k != j)
