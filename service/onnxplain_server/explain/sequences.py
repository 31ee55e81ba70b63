"""Sequences explained: what the score is, what sequences are like, and how many are predicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.arrays import Array, Indices, Matrix
from onnxplain_server.effects.background import keep
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.explain.engine import Choice, Means, choose
from onnxplain_server.explain.question import Question
from onnxplain_server.methods.firm import sequences
from onnxplain_server.methods.firm.sequences import Layout, Options, Result, Setting, Weights
from onnxplain_server.methods.firm.sequences.background import Background, fit
from onnxplain_server.model import Model
from onnxplain_server.rows import Features, bind
from onnxplain_server.table import Table

_BLOCK_ROWS = 20_000
_CHECKED_ROWS = 64
"""Random sequences on which a sum over letters must agree with the model."""
_LINEAR = 1e-4
"""By how much it may miss, as a share of the spread of their scores."""


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What came of a request about sequences.

    Attributes
    ----------
    options : Options
        After defaults.
    result : Result
    sequence_count : int
        In the column.
    choice : Choice or None
        The engine that predicted; None without a model.
    ledger : Ledger
    """

    options: Options
    result: Result
    sequence_count: int
    choice: Choice | None
    ledger: Ledger


def explain(  # noqa: PLR0917 - as other methods
    model: Model | None,
    table: Table | None,
    question: Question,
    options: Options,
    outputs: Indices,
    means: Means,
    path: str,
) -> Told:
    """Explain sequences by one method.

    Parameters
    ----------
    model : Model or None
        None where weights are given.
    outputs : (n_outputs,)
        Which of the model's.

    Raises
    ------
    ExplainError
        Where options, model and table do not fit each other.
    """
    sequences.check(options, path)
    found = _read(table, options, path)
    length = _length(model, options, found, path)
    background = _background(options, found, path)
    options = replace(options, length=length)
    sequences.check_sizes(options, length, background.order, max(len(outputs), 1), path)
    ledger = Ledger(means.host)
    if options.weights is not None:
        result = _of_weights(options, Setting(background, length, ("score",)), ledger)
        return Told(options, result, len(found), None, ledger)
    if model is None:
        raise ExplainError(Reason.INVALID_REQUEST, "no model, and no weights", "model")
    scorer = _Scorer(model, question, outputs, means, options, length)
    setting = Setting(background, length, scorer.output_names)
    result = _of_model(scorer, setting, options, question.seed)
    return Told(options, result, len(found), scorer.choice, scorer.ledger)


def _read(table: Table | None, options: Options, path: str) -> list[Array]:
    """Read the column: the sequences, as numbers of letters; missing ones are left out."""
    if not options.column:
        return []
    if table is None:
        raise ExplainError(
            Reason.INVALID_REQUEST, f"no table with the column {options.column!r}", "table"
        )
    texts = table.column(options.column, f"{path}.column")
    if texts.dtype != object:
        raise ExplainError(
            Reason.WRONG_TYPE, f"column {options.column!r} holds no text", f"{path}.column"
        )
    place = {letter: i for i, letter in enumerate(options.alphabet)}
    found = []
    for row, text in enumerate(texts):
        wrong = next((letter for letter in text if letter not in place), "")
        if wrong:
            raise ExplainError(
                Reason.INVALID_TABLE,
                f"column {options.column!r} has {wrong!r} in row {row} (counted from 0), which is "
                f"not of the alphabet {options.alphabet!r}",
                f"{path}.alphabet",
            )
        if text:
            found.append(np.array([place[letter] for letter in text], dtype=np.int8))
    return found


def _length(model: Model | None, options: Options, found: Sequence[Array], path: str) -> int:
    """Find the number of letters of a sequence."""
    if options.weights is not None:
        pairs = zip(options.weights.kmers, options.weights.positions, strict=True)
        end = max(position + len(kmer) for kmer, position in pairs)
        length = options.length or _common(found) or end
        if end > length:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"a weight ends after letter {end}, but sequences have {length}",
                f"{path}.weights.positions",
            )
        return length
    width = _width(model)
    if width is None:
        length = options.length or _common(found)
        if not length:
            raise ExplainError(
                Reason.INVALID_OPTION,
                "the model does not tell how long sequences are; give length",
                f"{path}.length",
            )
        return length
    length, rest = divmod(width, len(options.alphabet))
    if rest or options.length not in {None, length}:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the model takes {width} columns, which is not {options.length or 'some'} letters of "
            f"{len(options.alphabet)} columns each",
            f"{path}.length" if options.length else f"{path}.alphabet",
        )
    return length


def _width(model: Model | None) -> int | None:
    """Tell how many columns the model takes, all in one matrix of numbers."""
    if model is None:
        return None
    if len(model.inputs) != 1 or model.inputs[0].type == "string":
        raise ExplainError(
            Reason.UNSUPPORTED_MODEL,
            "sequences need a model that takes one matrix of numbers: a column for each letter at "
            "each position",
            "model",
        )
    return model.inputs[0].width


def _common(found: Sequence[Array]) -> int:
    """Length of all sequences; 0 where they differ, or there are none."""
    lengths = Counter(map(len, found))
    return next(iter(lengths)) if len(lengths) == 1 else 0


def _background(options: Options, found: Sequence[Array], path: str) -> Background:
    order = options.background.order
    if order is None:
        return sequences.chain(options, path)
    if options.background.transitions or options.background.initial:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "a background is either given or fitted; leave out transitions and initial, or order",
            f"{path}.background",
        )
    if not any(len(letters) > order for letters in found):
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"no sequence in column {options.column!r} is long enough for order {order}",
            "table",
        )
    return fit(found, order, len(options.alphabet), options.background.pseudo_count)


def _of_weights(options: Options, setting: Setting, ledger: Ledger) -> Result:
    listed = options.weights
    if listed is None:
        raise ValueError("no weights")
    tables = sequences.tables(
        listed.kmers, listed.positions, listed.values, setting.length, options.alphabet
    )
    weights = Weights(tables, setting.length, listed.constant)
    return sequences.of_weights([weights], setting, options, lambda: ledger.spend(0, 0))


class _Scorer:
    """Predicts sequences, one-hot encoded."""

    def __init__(  # noqa: PLR0917 - all that predicting needs
        self,
        model: Model,
        question: Question,
        outputs: Indices,
        means: Means,
        options: Options,
        length: int,
    ) -> None:
        self._model = model
        self._size = len(options.alphabet)
        self._length = length
        self._layout = options.layout
        first = self._features(np.zeros((2, length), dtype=np.int8))
        self.choice, self.ledger = choose(model, first, outputs, question, means)
        self.output_names = tuple(model.output_names[k] for k in outputs)

    def __call__(self, letters: Array) -> Matrix:
        """Predict sequences, (n, length) numbers of letters: (n, n_outputs)."""
        parts = [
            self._predict(letters[start : start + _BLOCK_ROWS])
            for start in range(0, len(letters), _BLOCK_ROWS)
        ]
        return np.concatenate(parts)

    def _predict(self, letters: Array) -> Matrix:
        rows = np.arange(len(letters))
        background = keep(self._features(letters), np.ones(len(letters)), rows)
        return self.choice.on(background).outputs()

    def _features(self, letters: Array) -> Features:
        """Encode sequences: a column for each letter at each position."""
        held = letters[:, :, None] == np.arange(self._size)
        if self._layout is Layout.LETTER_MAJOR:
            held = held.transpose(0, 2, 1)
        columns = held.reshape(len(letters), -1).T.astype(np.float64)
        table = Table({f"f{j}": column for j, column in enumerate(columns)}, len(letters))
        return bind(self._model.inputs, table, tuple(table.columns), ())


def _of_model(scorer: _Scorer, setting: Setting, options: Options, seed: int) -> Result:
    """Read the model as a sum over letters if it is one; otherwise sample."""
    size = setting.background.size
    probed = 1 + setting.length * (size - 1) + _CHECKED_ROWS
    sampled = sequences.cost(options, setting.length)
    scorer.ledger.reserve(probed + sampled)
    weights = _sum_over_letters(scorer, setting, seed)
    if weights is None:
        return sequences.of_score(scorer, setting, options, seed)
    scorer.ledger.settle(sampled)
    return sequences.of_weights(weights, setting, options, lambda: scorer.ledger.spend(0, 0))


def _sum_over_letters(scorer: _Scorer, setting: Setting, seed: int) -> list[Weights] | None:
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
