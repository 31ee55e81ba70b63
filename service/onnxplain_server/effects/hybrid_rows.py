"""Hybrid rows of features with few values: each predicted once, for all effects that need it."""

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
"""Up to here it pays to skip rows that have a value already: 1 in so many."""

_HELD_BYTES = 32 << 20
"""Of predictions that are kept for larger groups."""


@dataclass(frozen=True, slots=True, eq=False)
class _MovedPredictions:
    """Predictions of all rows with a group of features moved.

    Attributes
    ----------
    cube : (n_points, n_rows, n_outputs)
        For each distinct combination of the features' values.
    codes : (n_rows,)
        Which combination each row has itself.
    """

    cube: Cube
    codes: Indices


class Hybrids:
    """Moves features with few values over their own combinations of values.

    A row that already has one of the values is, with that feature left out of the group, a
    hybrid row of a smaller group: only rows that differ in every feature are predicted. Of two
    features with two values each, that is a quarter of the rows for each of four combinations.

    Parameters
    ----------
    predictor : Predictor
    background : Background
    outputs : callable () -> (n_rows, n_outputs)
        Predictions of the rows as they are.
    """

    def __init__(
        self, predictor: Predictor, background: Background, outputs: Callable[[], Matrix]
    ) -> None:
        self._predictor = predictor
        self._background = background
        self._outputs = outputs
        self._held: dict[tuple[int, ...], _MovedPredictions] = {}
        self._room = _HELD_BYTES

    def pays(self, group: tuple[int, ...], rows: int) -> bool:
        """Whether this is cheaper than predicting so many rows, and smaller groups are at hand.

        Putting rows together that are not whole tables costs time, with the fastest models as
        much as predicting twice as many.
        """
        levels = self._background.levels
        if any(len(levels[j]) > _FEW_LEVELS for j in group):
            return False
        if not all(len(part) == 0 or part in self._held for _, part in _without_one(group)):
            return False
        first, _ = self._combined(group)
        new = sum(int(self._new(group, first[span]).sum()) for span in self._spans(first))
        return new <= (rows if len(group) == 1 else rows // 2)

    def sweep(self, group: tuple[int, ...], shares: Shares) -> Averages:
        """Average over rows and over the combinations of values, ascending; as `Sweeper.sweep`."""
        first, codes = self._combined(group)
        if () not in self._held:
            outputs = self._outputs()
            self._held[()] = _MovedPredictions(outputs[None], np.zeros(len(outputs), dtype=np.intp))
        blocks = self._predictor.side_by_side(
            lambda span: self._block(group, first[span]), self._spans(first)
        )
        cube = np.concatenate(blocks)
        if cube.nbytes <= self._room:
            self._room -= cube.nbytes
            self._held[group] = _MovedPredictions(cube, codes)
        return Averages(over_rows(shares.rows, cube), over_points(shares.points, cube))

    def _combined(self, group: tuple[int, ...]) -> tuple[Indices, Indices]:
        return combine([self._background.codes[j] for j in group])

    def _spans(self, first: Indices) -> list[slice]:
        """Cut points into blocks of about the largest call."""
        length = max(1, BatchSize.LARGEST // len(self._background))
        return [slice(start, start + length) for start in range(0, len(first), length)]

    def _same(self, feature: int, at: Indices) -> Array:
        """Which rows have the value of a feature that some other rows have: (n_at, n_rows)."""
        codes = self._background.codes[feature]
        same: Array = codes[at][:, None] == codes
        return same

    def _new(self, group: tuple[int, ...], at: Indices) -> Array:
        """Which rows differ in every feature from some other rows: (n_at, n_rows)."""
        new: Array = ~np.any([self._same(j, at) for j in group], axis=0)
        return new

    def _block(self, group: tuple[int, ...], at: Indices) -> Cube:
        """Predict all rows with the combinations that some rows have: (n_at, n_rows, n_outputs)."""
        new = self._new(group, at)
        predicted = np.empty((*new.shape, len(self._predictor.output_names)))
        for feature, rest in _without_one(group):
            held, same = self._held[rest], self._same(feature, at)
            predicted[same] = held.cube[held.codes[at]][same]
        point, row = np.nonzero(new)
        if len(row):
            columns = [column[row] for column in self._background.columns]
            for j in group:
                columns[j] = self._background.columns[j][at][point]
            predicted[new] = self._predictor.predict_rows(self._background.features, columns)
        self._predictor.ledger.release(new.size - len(row))
        return predicted


def _without_one(group: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Each feature of a group, and the rest of it."""
    for j in group:
        yield j, tuple(k for k in group if k != j)
