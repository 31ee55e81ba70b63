"""Cause: values at a threshold, which rounding to float32 brings to its other side."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Flags, Matrix, Vector
from onnxplain_server.core.table import listed
from onnxplain_server.explain.expected_predictions.comparison import CauseKind, LikelyCause
from onnxplain_server.explain.expected_predictions.differences import sizes_of
from onnxplain_server.explain.expected_predictions.trial import PREDICTED_ROWS, CauseTrial

_STEPS = (1, -1, 4, -4)
"""Moves of a value, in units of its last place in float32: one rounding, and those of a scaler."""
_CUT = (
    "The table has doubles there, which the model takes as float32. Train on features that were "
    "converted to float32, or write the model with inputs of doubles."
)
_ROUNDED = (
    "The library compares them, or what it computes of them, as doubles, and the model as float32."
)
_NEARER = 0.99
"""Share of a difference that is left where a move counts: less is rounding of the model."""
_EXPLAINED_SHARE = 0.5
"""Share of the rows that has to agree: two thresholds between neighbours are crossed together."""
_FEWEST_ROWS = 5
_MOST_ROWS = 60
_MOST_FEATURES = PREDICTED_ROWS // (len(_STEPS) * _FEWEST_ROWS)


def threshold_rounding(trial: CauseTrial, fault: str) -> LikelyCause | None:
    """Find rows that agree once some of their values are moved by roundings of float32.

    Parameters
    ----------
    trial : CauseTrial
    fault : str
        What is known of the converter that wrote the model; may be empty.
    """
    floats = [j for j, column in enumerate(trial.columns) if column.dtype.kind == "f"]
    movable = floats[:_MOST_FEATURES]
    if not movable:
        return None
    count = min(PREDICTED_ROWS // (len(_STEPS) * len(movable)), _MOST_ROWS)
    rows = np.flatnonzero(trial.differs)[:count]
    nudging = _Nudging(trial, rows)
    for feature in movable:
        nudging.move(feature)
    agreeing = nudging.agreeing()
    names = tuple(trial.features.names[j] for j in movable if nudging.is_moved(j))
    are_cut = any(map(nudging.are_cut, movable))
    explained = "the row that differs"
    if len(rows) > 1:
        explained = f"{np.count_nonzero(agreeing)} of {len(rows)} rows that differ"
    message = (
        f"Values of {listed(names)} lie at thresholds of the model: moved by a rounding of float32,"
        f" the model predicts as expected in {explained}. {_CUT if are_cut else fault or _ROUNDED}"
    )
    return trial.cause(CauseKind.THRESHOLD_ROUNDING, agreeing, message, _EXPLAINED_SHARE)


class _Nudging:
    """Rows that differ, of which values are moved as long as that brings predictions nearer."""

    def __init__(self, trial: CauseTrial, rows: Array) -> None:
        self._trial = trial
        self._rows = rows
        self._columns = [column[rows] for column in trial.columns]
        self._tiled = [np.tile(column, len(_STEPS)) for column in self._columns]
        self._expected = trial.expected[rows]
        self._distance = self._distances(trial.compared[rows], 1)[0]

    def move(self, feature: int) -> None:
        """Move the values of a feature in rows where that helps."""
        column = self._columns[feature]
        moved = [_moved(column, step) for step in _STEPS]
        self._tiled[feature] = np.concatenate(moved)
        predicted = self._trial.predict(self._tiled)[:, self._trial.outputs]
        distances = self._distances(predicted, len(_STEPS))
        best = distances.argmin(axis=0)
        lowest = np.take_along_axis(distances, best[np.newaxis], axis=0)[0]
        helps: Flags = lowest < _NEARER * self._distance
        chosen = np.stack(moved)[best, np.arange(len(column))]
        self._columns[feature] = np.where(helps, chosen, column)
        self._tiled[feature] = np.tile(self._columns[feature], len(_STEPS))
        self._distance = np.where(helps, lowest, self._distance)

    def is_moved(self, feature: int) -> bool:
        """Return whether values of a feature were moved in rows that agree now."""
        return bool(self._moved(feature).any())

    def are_cut(self, feature: int) -> bool:
        """Return whether some of these are doubles, and no float32 as text writes it either."""
        given = self._trial.features.columns[feature][self._rows][self._moved(feature)]
        rounded = given.astype(np.float32)
        as_text = np.array([float(str(value)) for value in rounded])
        return bool(((given != rounded) & (given != as_text)).any())

    def _moved(self, feature: int) -> Flags:
        given = self._trial.columns[feature][self._rows]
        moved: Flags = (self._columns[feature] != given) & self.agreeing()
        return moved

    def agreeing(self) -> Flags:
        """Return which rows agree now."""
        agreeing: Flags = self._distance <= 1
        return agreeing

    def _distances(self, predicted: Array, count: int) -> Matrix:
        """Return the largest difference of each row, in multiples of rounding: (count, n_rows)."""
        expected = np.tile(self._expected, (count, 1))
        rounding = np.maximum(self._trial.rounding, np.finfo(np.float64).tiny)
        with np.errstate(over="ignore"):
            multiples = sizes_of(predicted, expected) / rounding
        largest: Matrix = multiples.max(axis=1).reshape(count, -1)
        return largest


def _moved(column: Array, steps: int) -> Vector:
    """Move values by units of the last place in float32, in their own type."""
    moved = column.astype(np.float32)
    towards = np.float32(np.inf if steps > 0 else -np.inf)
    for _ in range(abs(steps)):
        moved = np.nextafter(moved, towards)
    return np.where(np.isfinite(column), moved, column).astype(column.dtype)
