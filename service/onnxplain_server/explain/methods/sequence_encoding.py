"""One-hot encoding of sequences for a model, and a test whether its score is a sum over letters."""

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

_BATCH_ROWS = 20_000
_CHECKED_ROWS = 64
"""Random sequences on which a sum over letters must agree with the model."""
_TOLERANCE = 1e-4
"""Largest error of the sum, as a share of the standard deviation of the scores."""


class SequenceScorer:
    """Predictor of sequences, one-hot encoded."""

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
        batches = [
            self._predict(letters[start : start + _BATCH_ROWS])
            for start in range(0, len(letters), _BATCH_ROWS)
        ]
        return np.concatenate(batches)

    def _predict(self, letters: Array) -> Matrix:
        rows = np.arange(len(letters))
        background = unmerged(self._features(letters), np.ones(len(letters)), rows)
        return self._choice.on(background).outputs()

    def _features(self, letters: Array) -> Features:
        """Encode sequences: a column for each letter at each position."""
        one_hot = letters[:, :, None] == np.arange(self._size)
        match self._layout:
            case SequenceLayout.POSITION_MAJOR:
                pass
            case SequenceLayout.LETTER_MAJOR:
                one_hot = one_hot.transpose(0, 2, 1)
        columns = one_hot.reshape(len(letters), -1).T.astype(np.float64)
        table = Table({f"f{j}": column for j, column in enumerate(columns)}, len(letters))
        inputs = [replace(model_input, columns=()) for model_input in self._model.inputs]
        return bind(inputs, table, tuple(table.columns), ())


def additivity_cost(setting: Setting) -> int:
    """Return the number of rows that `sum_over_letters` predicts."""
    return 1 + setting.length * (setting.background.size - 1) + _CHECKED_ROWS


def sum_over_letters(scorer: SequenceScorer, setting: Setting, seed: int) -> list[Weights] | None:
    """Return the weight of each letter at each position; None if the score is not their sum.

    Substitutes one letter at a time, then checks the sum on random sequences.
    """
    size, length = setting.background.size, setting.length
    mutants = np.zeros((1 + length * (size - 1), length), dtype=np.int8)
    substitutions = [(place, letter) for place in range(length) for letter in range(1, size)]
    for row, (place, letter) in enumerate(substitutions, 1):
        mutants[row, place] = letter
    random = np.random.default_rng([seed, 8])
    checked = random.integers(0, size, (_CHECKED_ROWS, length)).astype(np.int8)
    scores = scorer(np.concatenate([mutants, checked]))
    base, substituted, actual = scores[0], scores[1 : len(mutants)], scores[len(mutants) :]
    # (position, letter, output)
    table = np.zeros((length, size, scores.shape[1]))
    table[:, 1:] = (substituted - base).reshape(length, size - 1, -1)
    sums = base + table[np.arange(length), checked].sum(axis=1)
    tolerance = _TOLERANCE * np.maximum(actual.std(axis=0), _TOLERANCE * np.abs(actual).max(axis=0))
    if (np.abs(sums - actual).max(axis=0) > tolerance).any():
        return None
    return [
        Weights((table[:, :, output],), length, float(base[output]))
        for output in range(scores.shape[1])
    ]
