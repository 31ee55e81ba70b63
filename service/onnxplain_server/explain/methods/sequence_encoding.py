"""A model asked about sequences: one-hot encoded, and read as a sum over letters if it is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.core.model import Model
from onnxplain_server.core.rows import Features, bind
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import unmerged
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.methods.sequences import Options, SequenceLayout, Setting, Weights

_BLOCK_ROWS = 20_000
_CHECKED_ROWS = 64
"""Random sequences on which a sum over letters must agree with the model."""
_LINEAR = 1e-4
"""By how much it may miss, as a share of the spread of their scores."""


class Scorer:
    """Predicts sequences, one-hot encoded."""

    def __init__(self, request: BoundRequest, model: Model, options: Options, length: int) -> None:
        self._model = model
        self._size = len(options.alphabet)
        self._length = length
        self._layout = options.layout
        first = self._features(np.zeros((2, length), dtype=np.int8))
        self._choice = request.choose(first)
        self.output_names = tuple(model.output_names[k] for k in request.output_indices)

    def __call__(self, letters: Array) -> Matrix:
        """Predict sequences, (n, length) numbers of letters: (n, n_outputs)."""
        parts = [
            self._predict(letters[start : start + _BLOCK_ROWS])
            for start in range(0, len(letters), _BLOCK_ROWS)
        ]
        return np.concatenate(parts)

    def _predict(self, letters: Array) -> Matrix:
        rows = np.arange(len(letters))
        background = unmerged(self._features(letters), np.ones(len(letters)), rows)
        return self._choice.on(background).outputs()

    def _features(self, letters: Array) -> Features:
        """Encode sequences: a column for each letter at each position."""
        held = letters[:, :, None] == np.arange(self._size)
        if self._layout is SequenceLayout.LETTER_MAJOR:
            held = held.transpose(0, 2, 1)
        columns = held.reshape(len(letters), -1).T.astype(np.float64)
        table = Table({f"f{j}": column for j, column in enumerate(columns)}, len(letters))
        inputs = [replace(taken, columns=()) for taken in self._model.inputs]
        return bind(inputs, table, tuple(table.columns), ())


def probed(setting: Setting) -> int:
    """Return the rows that `sum_over_letters` predicts."""
    return 1 + setting.length * (setting.background.size - 1) + _CHECKED_ROWS


def sum_over_letters(scorer: Scorer, setting: Setting, seed: int) -> list[Weights] | None:
    """Find the weight of each letter at each position, if the score is their sum.

    One letter is exchanged at a time; random sequences then tell whether exchanges add up.
    """
    size, length = setting.background.size, setting.length
    changed = np.zeros((1 + length * (size - 1), length), dtype=np.int8)
    places = [(place, letter) for place in range(length) for letter in range(1, size)]
    for row, (place, letter) in enumerate(places, 1):
        changed[row, place] = letter
    random = np.random.default_rng([seed, 8])
    checked = random.integers(0, size, (_CHECKED_ROWS, length)).astype(np.int8)
    scores = scorer(np.concatenate([changed, checked]))
    base, exchanged, seen = scores[0], scores[1 : len(changed)], scores[len(changed) :]
    # (position, letter, output)
    table = np.zeros((length, size, scores.shape[1]))
    table[:, 1:] = (exchanged - base).reshape(length, size - 1, -1)
    summed = base + table[np.arange(length), checked].sum(axis=1)
    allowed = _LINEAR * np.maximum(seen.std(axis=0), _LINEAR * np.abs(seen).max(axis=0))
    if (np.abs(summed - seen).max(axis=0) > allowed).any():
        return None
    return [
        Weights((table[:, :, output],), length, float(base[output]))
        for output in range(scores.shape[1])
    ]
