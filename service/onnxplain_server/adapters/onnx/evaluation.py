"""Evaluation on onnxruntime sessions: all rows in one batch, or in chunks of declared size.

One thread per call: callers run calls concurrently, which is faster and keeps results independent
of the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
import onnxruntime
from onnx import ModelProto

from onnxplain_server.adapters.onnx.batch_run import BatchRun
from onnxplain_server.adapters.onnx.inputs import Feed
from onnxplain_server.adapters.onnx.large_values import NO_VALUES, that_are_read
from onnxplain_server.adapters.onnx.packing import serialize
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.systems.memory import release_freed

Run: TypeAlias = Callable[[Mapping[str, Array]], list[Array]]
"""Inputs by name, each (n_rows, width), to one array per output."""

_FATAL_ONLY = 4
_FOLDING_BYTE_LIMIT = 1 << 20
_LARGE = 4 << 20
"""Bytes of a model whose loading leaves much memory freed: ten times as much as the file."""


def open_session(
    model: ModelProto, values: Mapping[str, Array] = NO_VALUES
) -> onnxruntime.InferenceSession:
    """Load a model in a session, without external files and without unbounded constant folding.

    `values` are those of its tensors that are apart, and have to live as long as the session.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = _FATAL_ONLY
    for name, value in (
        ("session.model_external_initializers_file_folder_path", "/nonexistent"),
        ("optimization.constant_folding_max_output_size_in_bytes", str(_FOLDING_BYTE_LIMIT)),
    ):
        options.add_session_config_entry(name, value)
    model, values = that_are_read(model, values)
    if values:
        held = [onnxruntime.OrtValue.ortvalue_from_numpy(each) for each in values.values()]
        options.add_external_initializers(list(values), held)
    content = serialize(model)
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    if values or len(content) > _LARGE:
        del content
        release_freed()
    return session


class RowBatches:
    """Evaluation of any number of rows, in one batch or in chunks of the declared size.

    Parameters
    ----------
    model : ModelProto
        From `Graph.cut`: without declared output shapes.
    feeds : sequence of Feed
        Its inputs.
    values : mapping of name to array
        Of its tensors that are apart.
    """

    def __init__(
        self, model: ModelProto, feeds: Sequence[Feed], values: Mapping[str, Array] = NO_VALUES
    ) -> None:
        self._model = model
        self._feeds = feeds
        self.values = values
        self._declared = next((feed.row_count for feed in feeds if feed.row_count), None)

    @property
    def chunk_size(self) -> int:
        """Rows of a chunk: the declared batch size, or one."""
        return self._declared or 1

    @cached_property
    def batched(self) -> Run:
        """Evaluation of all rows in one call; a declared batch size is made symbolic."""
        return self._run(self._model if self._declared is None else _with_free_batch(self._model))

    @cached_property
    def chunked(self) -> Run:
        """Evaluation in chunks of the declared batch size, or of one row: slow but always right."""
        run = self.batched if self._declared is None else self._run(self._model)
        return _in_chunks(run, self.chunk_size)

    def once(self, feeds: Mapping[str, Array]) -> list[Array]:
        """Evaluate one chunk: the first rows up to the declared batch size, or one; raw outputs."""
        count = len(next(iter(feeds.values())))
        first = np.arange(self.chunk_size) % count
        return self._run(self._model)({name: rows[first] for name, rows in feeds.items()})

    def _run(self, model: ModelProto) -> Run:
        outputs = [output.name for output in model.graph.output]
        flat = frozenset(feed.input.name for feed in self._feeds if feed.is_flat)
        return BatchRun(open_session(model, self.values), outputs, flat, self.values)


def _with_free_batch(model: ModelProto) -> ModelProto:
    """Return a copy of a model with a symbolic batch dimension."""
    copy = ModelProto()
    copy.CopyFrom(model)
    for value in copy.graph.input:
        if value.type.tensor_type.shape.dim:
            value.type.tensor_type.shape.dim[0].dim_param = "rows"
    return copy


def _in_chunks(run: Run, size: int) -> Run:
    """Run `size` rows per call; the last chunk is padded by repetition."""

    def run_chunks(feeds: Mapping[str, Array]) -> list[Array]:
        count = len(next(iter(feeds.values())))
        padded = np.arange(-(-count // size) * size) % count
        answers = [
            run({name: rows[padded[start : start + size]] for name, rows in feeds.items()})
            for start in range(0, count, size)
        ]
        return [_concatenate(parts, size)[:count] for parts in zip(*answers, strict=True)]

    return run_chunks


def _concatenate(parts: Sequence[Array], size: int) -> Array:
    """Concatenate one output of several calls of `size` rows each."""
    for part in parts:
        if part.shape[:1] != (size,):
            raise ValueError(f"for {size} rows it gives an answer of shape {part.shape}")
    return np.concatenate(parts)
