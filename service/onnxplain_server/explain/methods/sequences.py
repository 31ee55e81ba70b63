"""Preparation of FIRM on sequences: score, background model, length, rows to predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model
from onnxplain_server.core.table import Table
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.explain.methods.sequence_encoding import (
    SequenceScorer,
    additivity_cost,
    sum_over_letters,
)
from onnxplain_server.explain.registry import Preparation, Rehearsing
from onnxplain_server.explain.sample import RowsUsed
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import sequences
from onnxplain_server.methods.sequences import Options, Result, Setting, Weights
from onnxplain_server.methods.sequences.background import MarkovChain, fit

_ROW_SECONDS = 5e-7
"""Making a row of letters, and adding its prediction."""


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare importances of strings at positions.

    Raises
    ------
    ExplainError
        If options, model and table do not fit each other.
    """
    request, path = task.request, f"{task.path}.sequences"
    table, model = request.given_table, request.given_model
    sequences.check(options, path)
    if options.weights is None:
        request.require_model()
    sample = _read(table, options, path)
    rows = _rows_used(table, options, len(sample), task.question.seed)
    length = _length(model, options, sample, path)
    background = _background(options, sample, path)
    options = replace(options, length=length)
    output_count = max(len(request.output_indices), 1)
    sequences.check_sizes(options, length, background.order, output_count, path)
    ledger = request.ledger
    if options.weights is not None:
        setting = Setting(background, length, ("score",))
        return Job(options, 0, lambda: _compute_from_weights(options, setting, ledger), rows)
    scorer = SequenceScorer(request, request.model, options, length)
    setting = Setting(background, length, scorer.output_names)
    return Job(
        options,
        additivity_cost(setting) + sequences.cost(options, length),
        lambda: _compute_from_model(scorer, setting, options, task.question.seed, ledger),
        rows,
    )


def _read(table: Table | None, options: Options, path: str) -> list[Array]:
    """Read the column of sequences as letter indices; missing ones are left out."""
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
    letter_index = {letter: i for i, letter in enumerate(options.alphabet)}
    sample = []
    for row, text in enumerate(texts):
        unknown = next((letter for letter in text if letter not in letter_index), "")
        if unknown:
            raise ExplainError(
                Reason.INVALID_TABLE,
                f"column {options.column!r} has {unknown!r} in row {row} (counted from 0), which "
                f"is not of the alphabet {options.alphabet!r}",
                f"{path}.alphabet",
            )
        if text:
            sample.append(np.array([letter_index[letter] for letter in text], dtype=np.int8))
    return sample


def _rows_used(
    table: Table | None, options: Options, sequence_count: int, seed: int
) -> RowsUsed | None:
    """Count the rows of the table, and those that hold a sequence."""
    if table is None or not options.column:
        return None
    return RowsUsed(table.n_rows, sequence_count, float(sequence_count), seed)


def _length(model: Model | None, options: Options, sample: Sequence[Array], path: str) -> int:
    """Return the length of sequences, by weights, model, options or sample."""
    if options.weights is not None:
        pairs = zip(options.weights.kmers, options.weights.positions, strict=True)
        end = max(position + len(kmer) for kmer, position in pairs)
        length = options.length or _common_length(sample) or end
        if end > length:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"a weight ends after letter {end}, but sequences have {length}",
                f"{path}.weights.positions",
            )
        return length
    width = _width(model)
    if width is None:
        length = options.length or _common_length(sample)
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
    """Return the number of columns of the model's only input; None if it is not fixed."""
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


def _common_length(sample: Sequence[Array]) -> int:
    """Return the length that all sequences have; 0 if lengths differ or there are none."""
    lengths = {len(letters) for letters in sample}
    return lengths.pop() if len(lengths) == 1 else 0


def _background(options: Options, sample: Sequence[Array], path: str) -> MarkovChain:
    order = options.background.order
    if order is None:
        return sequences.chain(options, path)
    if options.background.transitions or options.background.initial:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "a background is either given or fitted; leave out transitions and initial, or order",
            f"{path}.background",
        )
    if not any(len(letters) > order for letters in sample):
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"no sequence in column {options.column!r} is long enough for order {order}",
            "table",
        )
    return fit(sample, order, len(options.alphabet), options.background.pseudo_count)


def _compute_from_weights(options: Options, setting: Setting, ledger: Ledger) -> Result:
    kmer_weights = options.weights
    if kmer_weights is None:
        raise ValueError("no weights")
    tables = sequences.tables(
        kmer_weights.kmers,
        kmer_weights.positions,
        kmer_weights.values,
        setting.length,
        options.alphabet,
    )
    weights = Weights(tables, setting.length, kmer_weights.constant)
    return sequences.from_weights([weights], setting, options, lambda: ledger.spend(0, 0))


def _compute_from_model(
    scorer: SequenceScorer, setting: Setting, options: Options, seed: int, ledger: Ledger
) -> Result:
    """Read the model as a sum over letters if it is one; otherwise sample."""
    weights = sum_over_letters(scorer, setting, seed)
    if weights is None:
        return sequences.from_samples(scorer, setting, options, seed)
    ledger.release(sequences.cost(options, setting.length))
    return sequences.from_weights(weights, setting, options, lambda: ledger.spend(0, 0))


PREPARATION = Preparation(
    prepare=prepare,
    is_alone=True,
    unread_prediction=lambda _options: "importances of strings read the score of the model itself",
    rehearsing=lambda _options: Rehearsing.BY_BOUND,
    seconds=lambda _request, job: job.cost * _ROW_SECONDS,
)
