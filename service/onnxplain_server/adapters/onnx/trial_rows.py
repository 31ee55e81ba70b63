"""Trial rows: what a model does with them is believed more than what it declares.

They show how many columns an output has, whether rows may be evaluated together, and whether a
margin belongs to its answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper

from onnxplain_server.adapters.onnx.checks.row_consistency import (
    Inconsistency,
    compare,
    contradiction,
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

_WIDEST = 4096


@dataclass(frozen=True, slots=True)
class Trial:
    """How a model is evaluated, and what it answered to the trial rows.

    Attributes
    ----------
    run : Run
        The way to evaluate it.
    is_apart : bool
        Whether its rows have to be evaluated apart.
    answers : list of arrays, one per output
        For each trial row.
    doubt : Inconsistency or None
        Why it is no function of the row; None where it is, as far as these rows show.
    runs : RowBatches
        All ways to evaluate it.
    rows : mapping of input name to (n_trials, width)
        The trial rows.
    """

    run: Run
    is_apart: bool
    answers: list[Array]
    doubt: Inconsistency | None
    runs: RowBatches
    rows: Mapping[str, Array]


def run_trial(model: ModelProto, feeds: Sequence[Feed]) -> Trial:
    """Evaluate the trial rows together and apart, and keep what is right.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL where not even single rows can be evaluated.
    """
    lenient = _lenient(model)
    runs = RowBatches(lenient or model, feeds)
    apart = runs.apart  # loads the model: errors of its own, outside of the try
    rows = _trial_rows(apart, feeds, model)
    try:
        trial = run_rows(model, runs, feeds, rows)
    except Exception as fault:  # noqa: BLE001 - any error of the runtime means the same
        refuse_for_memory(fault)
        raise _unusable(cause(fault)) from None
    return _by(RowBatches(model, feeds), trial) if lenient else trial


def run_rows(
    model: ModelProto, runs: RowBatches, feeds: Sequence[Feed], rows: Mapping[str, Array]
) -> Trial:
    """Evaluate rows together and apart, and keep what is right.

    Parameters
    ----------
    rows : mapping of input name to (n_rows, width)

    Raises
    ------
    Exception
        Of the runtime, where it cannot evaluate these rows.
    """
    answers = runs.apart(rows)
    together = _together(runs, rows)
    fits = together is not None and all(
        a.shape == b.shape for a, b in zip(together, answers, strict=True)
    )
    beside = None
    if together is not None:
        beside = compare(together, answers, "its answer for a row depends on the rows beside it")
    is_apart = together is None or beside is not None
    doubt = contradiction(model, runs.apart if is_apart else runs.together, rows)
    if doubt:
        is_apart = not fits  # apart would be slower, and no better
    elif is_apart and fits and not any(feed.row_count for feed in feeds):
        doubt = beside
    return Trial(runs.apart if is_apart else runs.together, is_apart, answers, doubt, runs, rows)


def _by(runs: RowBatches, trial: Trial) -> Trial:
    """The same way to evaluate a model, by other sessions."""
    run = runs.apart if trial.is_apart else runs.together
    return replace(trial, run=run, runs=runs)


def fault_of(model: ModelProto, feeds: Sequence[Feed], rows: Mapping[str, Array]) -> str:
    """Tell why a model cannot be evaluated on a few rows; empty where it can."""
    try:
        RowBatches(_lenient(model) or model, feeds).once(rows)
    except Exception as fault:  # noqa: BLE001 - any error of the runtime means the same
        refuse_for_memory(fault)
        return cause(fault)
    return ""


def _together(runs: RowBatches, rows: Mapping[str, Array]) -> list[Array] | None:
    """The answers to all rows at once; None where the model does not take them."""
    try:
        return runs.together(rows)
    except Exception:  # noqa: BLE001 - a model that takes no more rows at once is no error
        return None


def _trial_rows(apart: Run, feeds: Sequence[Feed], model: ModelProto) -> dict[str, Array]:
    """A few rows of every kind of value: name -> (n_trials, width)."""
    words = _categories(model) or [""]
    generator = np.random.default_rng(0)
    open_width = any(feed.input.width is None for feed in feeds)
    for width in range(1, _WIDEST + 1 if open_width else 2):
        rows = {feed.input.name: _values(feed.input, width, words, generator) for feed in feeds}
        if not open_width or _runs_on(apart, rows):
            return rows
    raise _unusable(f"no number of columns up to {_WIDEST} is accepted")


def _runs_on(run: Run, rows: Mapping[str, Array]) -> bool:
    try:
        run({name: values[:1] for name, values in rows.items()})
    except Exception:  # noqa: BLE001 - the wrong number of columns is what is looked for
        return False
    return True


def _values(
    input_: Input, open_width: int, words: list[str], generator: np.random.Generator
) -> Array:
    spreads = np.array(_SPREADS)[:, np.newaxis]
    shape = (len(_SPREADS), input_.width or open_width)
    if input_.type == "string":
        chosen: Array = np.array(words, dtype=object)[generator.integers(len(words), size=shape)]
        return chosen
    dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(input_.type.upper()))
    if dtype.kind == "f":
        numbers: Array = (generator.normal(size=shape) * spreads).astype(dtype)
        return numbers
    whole: Array = (generator.integers(2, size=shape) * (spreads > 0)).astype(dtype)
    return whole


def _categories(model: ModelProto) -> list[str]:
    """Texts that the model itself knows."""
    names = ("cats_strings", "keys_strings")
    lists = (attribute(node, name, ()) for node in nodes_within(model.graph) for name in names)
    return [text for texts in lists for text in texts]


def _lenient(model: ModelProto) -> ModelProto | None:
    """The model without errors on unknown categories, as trial rows have them.

    None where the model has no such errors.
    """
    if not any(map(_is_strict, nodes_within(model.graph))):
        return None
    lenient = ModelProto()
    lenient.CopyFrom(model)
    for node in filter(_is_strict, nodes_within(lenient.graph)):
        next(found for found in node.attribute if found.name == "zeros").i = 1
    return lenient


def _is_strict(node: NodeProto) -> bool:
    return node.op_type == "OneHotEncoder" and not attribute(node, "zeros", 1)


def _unusable(why: str) -> ExplainError:
    message = f"The model cannot be evaluated on trial rows: {why}"
    return ExplainError(Reason.UNSUPPORTED_MODEL, message, "model")
