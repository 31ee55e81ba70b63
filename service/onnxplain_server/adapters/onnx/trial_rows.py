"""Trial rows show a model's behaviour, which may differ from its declarations.

They show the number of columns of an output, whether rows can be evaluated in one batch, and
whether a margin belongs to the answer. They are made up; where a model takes none of these, as
codes outside of its categories, they are rows of the caller's table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper

from onnxplain_server.adapters.onnx.checks.row_consistency import (
    Inconsistency,
    compare,
    find_inconsistency,
    find_resizing,
)
from onnxplain_server.adapters.onnx.evaluation import RowBatches, Run
from onnxplain_server.adapters.onnx.faults import cause, refuse_for_memory
from onnxplain_server.adapters.onnx.inputs import Feed
from onnxplain_server.adapters.onnx.large_values import NO_VALUES
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input
from onnxplain_server.trees.reading.onnx_nodes import attribute, nodes_within

_SPREADS = (0.0, 1.0, 1.0, 10.0, 100.0, 1000.0)
"""Standard deviation of the numbers in each trial row; the first row is all zeros."""

_WIDTH_LIMIT = 4096
_MADE_UP = "made-up rows"
_OF_TABLE = "rows of the table that were tried"


@dataclass(frozen=True, slots=True)
class Trial:
    """Evaluation chosen for a model, and its answers for the trial rows.

    Attributes
    ----------
    run : Run
        Chosen evaluation.
    is_chunked : bool
        Whether `run` evaluates in chunks instead of one batch.
    mixes_rows : bool
        Whether the answers of one batch depend on the rows beside each.
    answers : list of arrays, one per output
        Answers for the trial rows.
    inconsistency : Inconsistency or None
        Evidence that the model is no function of the row; None if these rows show none.
    runs : RowBatches
        Both evaluations.
    rows : mapping of input name to (n_trials, width)
        The trial rows.
    kind : str
        What they are, for messages.
    """

    run: Run
    is_chunked: bool
    mixes_rows: bool
    answers: list[Array]
    inconsistency: Inconsistency | None
    runs: RowBatches
    rows: Mapping[str, Array]
    kind: str = _MADE_UP


class UntriedModelError(ExplainError):
    """UNSUPPORTED_MODEL for a model that takes none of its trial rows.

    Attributes
    ----------
    inputs : tuple of Input
        Of the model, which rows of a table can be bound to.
    """

    def __init__(self, inputs: tuple[Input, ...], kind: str, fault: str) -> None:
        message = f"The model cannot be evaluated on {kind}: {fault}"
        super().__init__(Reason.UNSUPPORTED_MODEL, message, "model")
        self.inputs = inputs


def run_trial(
    model: ModelProto,
    feeds: Sequence[Feed],
    rows: Mapping[str, Array] | None = None,
    values: Mapping[str, Array] = NO_VALUES,
) -> Trial:
    """Evaluate trial rows, in one batch and in chunks; choose the evaluation.

    Parameters
    ----------
    rows : mapping of input name to (n_rows, width), optional
        By default, they are made up.
    values : mapping of name to array
        Of the model's tensors that are apart.

    Raises
    ------
    UntriedModelError
        If not even single rows can be evaluated.
    """
    lenient = _lenient(model)
    runs = RowBatches(lenient or model, feeds, values)
    chunked = runs.chunked  # loads the model, whose errors differ: outside of the try
    if rows is None:
        trial = _first_trial(model, runs, feeds, _made_up(chunked, feeds, model), _MADE_UP)
    else:
        trial = _first_trial(model, runs, feeds, iter([_taken(chunked, rows)]), _OF_TABLE)
    return _with_runs(RowBatches(model, feeds, values), trial) if lenient else trial


def _first_trial(
    model: ModelProto,
    runs: RowBatches,
    feeds: Sequence[Feed],
    attempts: Iterator[Mapping[str, Array]],
    kind: str,
) -> Trial:
    """Try rows until a model takes some; the error is that of the first ones."""
    faults = []
    for rows in attempts:
        try:
            return replace(run_rows(model, runs, feeds, rows), kind=kind)
        except Exception as fault:  # noqa: BLE001 - errors of the runtime have any type
            refuse_for_memory(fault)
            faults.append(cause(fault))
    raise UntriedModelError(_inputs(feeds), kind, faults[0])


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
    mixing = None
    if batched is not None and not any(feed.row_count for feed in feeds):
        mixing = batch_effect if has_same_shapes else find_resizing(batched, answers)
    if inconsistency:
        is_chunked = not has_same_shapes  # chunks would be slower, and no better
    run = runs.chunked if is_chunked else runs.batched
    mixes_rows = mixing is not None
    return Trial(run, is_chunked, mixes_rows, answers, inconsistency or mixing, runs, rows)


def _with_runs(runs: RowBatches, trial: Trial) -> Trial:
    """Return the trial with the same choice on other sessions."""
    run = runs.chunked if trial.is_chunked else runs.batched
    return replace(trial, run=run, runs=runs)


def evaluation_fault(
    model: ModelProto,
    feeds: Sequence[Feed],
    rows: Mapping[str, Array],
    values: Mapping[str, Array] = NO_VALUES,
) -> str:
    """Return why a model cannot be evaluated on a few rows; empty if it can."""
    try:
        RowBatches(_lenient(model) or model, feeds, values).once(rows)
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


def _taken(run: Run, rows: Mapping[str, Array]) -> Mapping[str, Array]:
    """Keep the rows that a model takes; all of them where it takes none."""
    count = len(next(iter(rows.values())))
    taken = [k for k in range(count) if _runs_on(run, _at(rows, [k]))]
    return _at(rows, taken) if taken else rows


def _made_up(run: Run, feeds: Sequence[Feed], model: ModelProto) -> Iterator[Mapping[str, Array]]:
    """Make rows up: of many magnitudes, else of 0 and 1, as codes may be, else of 0."""
    rows = _trial_rows(run, feeds, model)
    yield rows
    generator = np.random.default_rng(0)
    for top in (2, 1):
        yield {
            name: values
            if values.dtype == object
            else generator.integers(top, size=values.shape).astype(values.dtype)
            for name, values in rows.items()
        }


def _trial_rows(run: Run, feeds: Sequence[Feed], model: ModelProto) -> dict[str, Array]:
    """Make up rows with values of many magnitudes: name -> (n_trials, width)."""
    categories = known_texts(model) or [""]
    generator = np.random.default_rng(0)
    open_width = any(feed.input.width is None for feed in feeds)
    for width in range(1, _WIDTH_LIMIT + 1 if open_width else 2):
        rows = {
            feed.input.name: _values(feed.input, width, categories, generator) for feed in feeds
        }
        if not open_width or _runs_on(run, _at(rows, [0])):
            return rows
    fault = f"no number of columns up to {_WIDTH_LIMIT} is accepted"
    raise UntriedModelError(_inputs(feeds), _MADE_UP, fault)


def _runs_on(run: Run, rows: Mapping[str, Array]) -> bool:
    try:
        run(rows)
    except Exception:  # noqa: BLE001 - a wrong number of columns is expected here, or a code
        return False
    return True


def _at(rows: Mapping[str, Array], positions: Sequence[int]) -> dict[str, Array]:
    return {name: values[positions] for name, values in rows.items()}


def _inputs(feeds: Sequence[Feed]) -> tuple[Input, ...]:
    return tuple(feed.input for feed in feeds)


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


def known_texts(model: ModelProto) -> list[str]:
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
