"""Model loading: from the bytes of a file to a model that predicts, or to its description."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from onnx import ModelProto

from onnxplain_server.adapters.onnx.analysis.graph import Graph, quote_name
from onnxplain_server.adapters.onnx.analysis.margin import (
    check_link,
    margin_unavailable,
    read_margin,
)
from onnxplain_server.adapters.onnx.analysis.outputs import OutputTensor, left_out, read_parts
from onnxplain_server.adapters.onnx.checks.tree_consistency import TreeSizes
from onnxplain_server.adapters.onnx.class_scores import has_class_scores, scores_two_classes
from onnxplain_server.adapters.onnx.faults import loading
from onnxplain_server.adapters.onnx.inputs import Feed, read_inputs
from onnxplain_server.adapters.onnx.layers.read import read_layers
from onnxplain_server.adapters.onnx.output_columns import OutputColumns
from onnxplain_server.adapters.onnx.read import operators, read_file
from onnxplain_server.adapters.onnx.session import OnnxModel
from onnxplain_server.adapters.onnx.terms.read import read_additive
from onnxplain_server.adapters.onnx.trial_notes import (
    describe_inconsistency,
    elsewhere_note,
    trial_notes,
)
from onnxplain_server.adapters.onnx.trial_rows import Trial, evaluation_fault, run_rows, run_trial
from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Description, Note, Scale
from onnxplain_server.core.model_limits import DEFAULT_LIMITS, ModelLimits
from onnxplain_server.core.table import listed
from onnxplain_server.core.warnings import InputWarning


def load(
    content: bytes,
    scale: Scale = Scale.RESPONSE,
    limits: ModelLimits = DEFAULT_LIMITS,
    *,
    is_batched: bool | None = None,
    rows: Mapping[str, Array] | None = None,
) -> OnnxModel:
    """Load a model.

    Parameters
    ----------
    content : bytes
        The whole .onnx file, or native tree file.
    scale : Scale
        Output scale: the model's own answer, or the additive score before it.
    limits : ModelLimits
        Complexity limits.
    is_batched : bool, optional
        Whether to evaluate all rows of a call at once, as is known of the model; by default, trial
        rows decide.
    rows : mapping of input name to (n_rows, width), optional
        Trial rows; by default, they are made up.

    Raises
    ------
    ExplainError
        INVALID_MODEL, UNSUPPORTED_MODEL, MODEL_TOO_COMPLEX, EXTERNAL_DATA or
        MARGIN_UNAVAILABLE.
    UntriedModelError
        If it takes none of the trial rows.
    """
    with loading():
        model = _load(_read_file(content, limits, rows), scale)
        return model if is_batched is None else model.evaluated(is_batched=is_batched)


def load_described(
    content: bytes,
    scale: Scale = Scale.RESPONSE,
    limits: ModelLimits = DEFAULT_LIMITS,
    *,
    rows: Mapping[str, Array] | None = None,
) -> tuple[OnnxModel, Description]:
    """Load a model and describe it; the file is read and tried once. See `load` and `describe`."""
    with loading():
        file = _read_file(content, limits, rows)
        model = _load(file, scale)
        is_margin = scale is Scale.MARGIN
        return model, _describe(file, "" if is_margin else _margin_refusal(file))


def describe(content: bytes, limits: ModelLimits = DEFAULT_LIMITS) -> Description:
    """Describe inputs, outputs and operators of a model.

    Raises
    ------
    ExplainError
        INVALID_MODEL, UNSUPPORTED_MODEL, MODEL_TOO_COMPLEX or EXTERNAL_DATA.
    """
    with loading():
        file = _read_file(content, limits)
        return _describe(file, _margin_refusal(file))


@dataclass(frozen=True, slots=True)
class _Opened:
    """Graph cut to some tensors, loaded in a session, with the results of the trial rows."""

    model: ModelProto
    feeds: tuple[Feed, ...]
    parts: tuple[OutputTensor, ...]
    columns: OutputColumns
    trial: Trial


@dataclass(frozen=True, slots=True)
class _File:
    """Model file that was read and tried: digest, operators, producer, trees, graph and notes."""

    digest: str
    operators: tuple[str, ...]
    producer: tuple[str, str]
    trees: TreeSizes
    graph: Graph
    response: _Opened
    notes: tuple[Note, ...]


def _read_file(
    content: bytes, limits: ModelLimits, rows: Mapping[str, Array] | None = None
) -> _File:
    graph, sizes, sentences = read_file(content, limits)
    used = operators(graph.model)
    producer = (graph.model.producer_name, graph.model.producer_version)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    response = _open(graph, read_parts(graph), rows)
    notes = tuple(Note(InputWarning.NATIVE_FILE_READING, sentence) for sentence in sentences)
    return _File(digest, used, producer, sizes, graph, response, notes)


def _load(file: _File, scale: Scale) -> OnnxModel:
    graph, response = file.graph, file.response
    is_classifier = has_class_scores(graph, response.parts)
    is_binary = _is_binary(graph, response)
    notes = (*file.notes, *_output_notes(graph, response))
    opened = response if scale is Scale.RESPONSE else _margin(graph, response)
    return _model(opened, notes, has_class_scores=is_classifier, is_binary=is_binary)


def _describe(file: _File, margin_refusal: str) -> Description:
    graph, response = file.graph, file.response
    names = [feed.input.name for feed in response.feeds] + list(response.columns.names)
    names += [name for feed in response.feeds for name in feed.input.columns]
    "".join((*file.producer, *file.operators, *names)).encode()  # raises for invalid Unicode
    return Description(
        digest=file.digest,
        inputs=tuple(feed.input for feed in response.feeds),
        output_names=response.columns.names,
        margin_refusal=margin_refusal,
        operators=file.operators,
        producer=file.producer[0],
        has_class_scores=has_class_scores(graph, response.parts),
        is_binary=_is_binary(graph, response),
        producer_version=file.producer[1],
        tree_count=file.trees.tree_count,
        tree_depth=max(file.trees.level_count - 1, 0),
    )


def _open(
    graph: Graph, parts: tuple[OutputTensor, ...], rows: Mapping[str, Array] | None
) -> _Opened:
    feeds = read_inputs(graph)
    model = graph.cut(part.tensor for part in parts)
    trial = run_trial(model, feeds, rows, graph.values)
    return _Opened(model, feeds, parts, OutputColumns(parts, trial.answers), trial)


def _is_binary(graph: Graph, response: _Opened) -> bool:
    return len(response.columns.names) == 2 and scores_two_classes(graph, response.parts)


def _margin(graph: Graph, response: _Opened) -> _Opened:
    """Open the same model on the margin scale."""
    margin = read_margin(graph, response.parts, response.columns.counts)
    opened = _open_scores(graph, margin.parts, response.trial.rows)
    if opened.columns.counts != response.columns.counts:
        raise margin_unavailable("its scores are not one per prediction column")
    starts = np.cumsum(response.columns.counts)[:-1]
    scores, answers = (
        np.split(part.columns.arrange(part.trial.answers), starts, axis=1)
        for part in (opened, response)
    )
    for link, score, answer in zip(margin.links, scores, answers, strict=True):
        check_link(link, score, answer)
    return opened


def _open_scores(
    graph: Graph, parts: tuple[OutputTensor, ...], rows: Mapping[str, Array]
) -> _Opened:
    try:
        return _open(graph, parts, rows)
    except Exception:  # noqa: BLE001 - the model is valid; the graph derived from it is not
        raise margin_unavailable("the runtime cannot evaluate its sum alone") from None


def _margin_refusal(file: _File) -> str:
    try:
        _margin(file.graph, file.response)
    except ExplainError as refusal:
        if refusal.reason is not Reason.MARGIN_UNAVAILABLE:
            raise
        return refusal.message
    return ""


def _output_notes(graph: Graph, response: _Opened) -> tuple[Note, ...]:
    """Note the outputs that are left out, and if the runtime refuses the model with them."""
    notes: tuple[Note, ...] = ()
    if deep := left_out(graph, response.parts):
        message = (
            f"The model's {_outputs(deep)} {'have' if len(deep) > 1 else 'has'} more than two "
            "dimensions, and cannot be explained; the other outputs are."
        )
        notes = (Note(InputWarning.OUTPUT_LEFT_OUT, message),)
    used = {part.tensor for part in response.parts}
    unused = tuple(output.name for output in graph.outputs if output.name not in used)
    if not unused:
        return notes
    fault = evaluation_fault(graph.model, response.feeds, response.trial.rows, graph.values)
    if not fault:
        return notes
    message = (
        f"onnxruntime refuses this model as it is: {fault.rstrip('.')}. The numbers are those of "
        f"the model without its {_outputs(unused)}, which it accepts. Export it again."
    )
    return (*notes, Note(InputWarning.OUTPUT_REFUSED, message))


def _outputs(names: tuple[str, ...]) -> str:
    return f"outputs {listed(names)}" if len(names) > 1 else f"output {quote_name(names[0])}"


def _model(
    opened: _Opened, notes: tuple[Note, ...], *, has_class_scores: bool, is_binary: bool
) -> OnnxModel:
    trial = opened.trial
    inconsistency = describe_inconsistency(trial)
    return OnnxModel(
        opened.model,
        tuple(feed.input for feed in opened.feeds),
        opened.columns,
        (*trial_notes(opened.parts, trial, inconsistency), *notes),
        trial.run,
        inconsistency=inconsistency,
        has_class_scores=has_class_scores,
        is_binary=is_binary,
        recheck=partial(_recheck, opened),
        runs=trial.runs,
        read_additive=partial(
            read_additive, opened.model, opened.parts, opened.feeds, trial.rows, trial.runs.values
        ),
        read_layers=partial(
            read_layers,
            opened.model,
            [part.tensor for part in opened.parts],
            opened.feeds,
            trial.rows,
            trial.runs.values,
        ),
    )


def _recheck(
    opened: _Opened, model: OnnxModel, rows: Mapping[str, Array], source: Indices
) -> OnnxModel:
    """Check a model on rows of a table, which outweigh the made-up trial rows."""
    try:
        trial = run_rows(opened.model, opened.trial.runs, opened.feeds, rows)
    except Exception:  # noqa: BLE001 - predicting these rows raises the error
        return model
    if trial.inconsistency is None and opened.trial.inconsistency is None:
        # Rows of a table may be too similar to show that the model needs chunks.
        return model
    if trial.inconsistency is None:
        elsewhere = elsewhere_note(opened.trial, len(source))
        return model.with_run(trial.run, (*trial_notes(opened.parts, trial), elsewhere), "")
    inconsistency = describe_inconsistency(trial, source)
    return model.with_run(trial.run, trial_notes(opened.parts, trial, inconsistency), inconsistency)
