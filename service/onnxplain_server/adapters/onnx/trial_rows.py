"""Trial rows: made-up rows that show a model's behaviour, which may differ from its declarations.

They show the number of columns of an output, whether rows can be evaluated in one batch, and
whether a margin belongs to the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper

from onnxplain_server.adapters.onnx.checks.row_consistency import (
    Inconsistency,
    compare,
    find_inconsistency,
)
from onnxplain_server.adapters.onnx.evaluation import RowBatches, Run
from onnxplain_server.adapters.onnx.faults import cause, refuse_for_memory
from onnxplain_server.adapters.onnx.inputs import Feed
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input
from onnxplain_server.trees.reading.onnx_nodes import attribute, nodes_within

_SPREADS = (0.0, 1.0, 1.0, 10.0, 100.0, 1000.0)
"""Standard deviation of the numbers in each trial row; the first row is all zeros."""

_WIDTH_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class Trial:
    """Evaluation chosen for a model, and its answers for the trial rows.

    Attributes
    ----------
    run : Run
        Chosen evaluation.
    is_chunked : bool
        Whether `run` evaluates in chunks instead of one batch.
    answers : list of arrays, one per output
        Answers for the trial rows.
    inconsistency : Inconsistency or None
        Evidence that the model is no function of the row; None if these rows show none.
    runs : RowBatches
        Both evaluations.
    rows : mapping of input name to (n_trials, width)
        The trial rows.
    """

    run: Run
    is_chunked: bool
    answers: list[Array]
    inconsistency: Inconsistency | None
    runs: RowBatches
    rows: Mapping[str, Array]


def run_trial(model: ModelProto, feeds: Sequence[Feed]) -> Trial:
    """Evaluate made-up trial rows, in one batch and in chunks; choose the evaluation.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL if not even single rows can be evaluated.
    """
    lenient = _lenient(model)
    runs = RowBatches(lenient or model, feeds)
    chunked = runs.chunked  # loads the model, whose errors differ: outside of the try
    rows = _trial_rows(chunked, feeds, model)
    try:
        trial = run_rows(model, runs, feeds, rows)
    except Exception as fault:  # noqa: BLE001 - errors of the runtime have any type
        refuse_for_memory(fault)
        raise _unusable(cause(fault)) from None
    return _with_runs(RowBatches(model, feeds), trial) if lenient else trial


def run_rows(
    model: ModelProto, runs: RowBatches, feeds: Sequence[Feed], rows: Mapping[str, Array]
) -> Trial:
    """Evaluate rows in one batch and in chunks; prefer the batch if both agree.

    Parameters
    ----------
    rows : mapping of input name to (n_rows, width)

    Raises
    ------
    Exception
        Any error of the runtime on these rows.
    """
    answers = runs.chunked(rows)
    batched = _batched_answers(runs, rows)
    has_same_shapes = batched is not None and all(
        a.shape == b.shape for a, b in zip(batched, answers, strict=True)
    )
    batch_effect = None
    if batched is not None:
        reason = "its answer for a row depends on the rows beside it"
        batch_effect = compare(batched, answers, reason)
    is_chunked = batched is None or batch_effect is not None
    run = runs.chunked if is_chunked else runs.batched
    inconsistency = find_inconsistency(model, run, rows)
    if inconsistency:
        is_chunked = not has_same_shapes  # chunks would be slower, and no better
    elif is_chunked and has_same_shapes and not any(feed.row_count for feed in feeds):
        inconsistency = batch_effect
    run = runs.chunked if is_chunked else runs.batched
    return Trial(run, is_chunked, answers, inconsistency, runs, rows)


def _with_runs(runs: RowBatches, trial: Trial) -> Trial:
    """Return the trial with the same choice on other sessions."""
    run = runs.chunked if trial.is_chunked else runs.batched
    return replace(trial, run=run, runs=runs)


def evaluation_fault(model: ModelProto, feeds: Sequence[Feed], rows: Mapping[str, Array]) -> str:
    """Return why a model cannot be evaluated on a few rows; empty if it can."""
    try:
        RowBatches(_lenient(model) or model, feeds).once(rows)
    except Exception as fault:  # noqa: BLE001 - errors of the runtime have any type
        refuse_for_memory(fault)
        return cause(fault)
    return ""


def _batched_answers(runs: RowBatches, rows: Mapping[str, Array]) -> list[Array] | None:
    """Evaluate all rows in one batch; None if the model does not support it."""
    try:
        return runs.batched(rows)
    except Exception:  # noqa: BLE001 - a model with a fixed batch size is no error
        return None


def _trial_rows(run: Run, feeds: Sequence[Feed], model: ModelProto) -> dict[str, Array]:
    """Make up rows with values of many magnitudes: name -> (n_trials, width)."""
    categories = _categories(model) or [""]
    generator = np.random.default_rng(0)
    open_width = any(feed.input.width is None for feed in feeds)
    for width in range(1, _WIDTH_LIMIT + 1 if open_width else 2):
        rows = {
            feed.input.name: _values(feed.input, width, categories, generator) for feed in feeds
        }
        if not open_width or _runs_on(run, rows):
            return rows
    raise _unusable(f"no number of columns up to {_WIDTH_LIMIT} is accepted")


def _runs_on(run: Run, rows: Mapping[str, Array]) -> bool:
    try:
        run({name: values[:1] for name, values in rows.items()})
    except Exception:  # noqa: BLE001 - a wrong number of columns is expected here
        return False
    return True


def _values(
    input_: Input, open_width: int, categories: list[str], generator: np.random.Generator
) -> Array:
    spreads = np.array(_SPREADS)[:, np.newaxis]
    shape = (len(_SPREADS), input_.width or open_width)
    if input_.type == "string":
        chosen: Array = np.array(categories, dtype=object)[
            generator.integers(len(categories), size=shape)
        ]
        return chosen
    dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(input_.type.upper()))
    if dtype.kind == "f":
        numbers: Array = (generator.normal(size=shape) * spreads).astype(dtype)
        return numbers
    whole: Array = (generator.integers(2, size=shape) * (spreads > 0)).astype(dtype)
    return whole


def _categories(model: ModelProto) -> list[str]:
    """Return the text categories in the model's encoders."""
    names = ("cats_strings", "keys_strings")
    lists = (attribute(node, name, ()) for node in nodes_within(model.graph) for name in names)
    return [text for texts in lists for text in texts]


def _lenient(model: ModelProto) -> ModelProto | None:
    """Return a copy that accepts unknown categories, which trial rows contain.

    None if the model accepts them itself.
    """
    if not any(map(_is_strict, nodes_within(model.graph))):
        return None
    lenient = ModelProto()
    lenient.CopyFrom(model)
    for node in filter(_is_strict, nodes_within(lenient.graph)):
        next(content for content in node.attribute if content.name == "zeros").i = 1
    return lenient


def _is_strict(node: NodeProto) -> bool:
    return node.op_type == "OneHotEncoder" and not attribute(node, "zeros", 1)


def _unusable(reason: str) -> ExplainError:
    message = f"The model cannot be evaluated on trial rows: {reason}"
    return ExplainError(Reason.UNSUPPORTED_MODEL, message, "model")
