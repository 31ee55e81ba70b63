"""Sessions of onnxruntime, and the two ways to evaluate rows with them.

One thread per call: the caller runs several calls side by side, which is faster and keeps results
independent of the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
import onnxruntime
from onnx import ModelProto

from onnxplain_server.adapters.onnx.inputs import Feed
from onnxplain_server.core.arrays import Array

Run: TypeAlias = Callable[[Mapping[str, Array]], list[Array]]
"""Inputs by name, each (n_rows, width), to one array per output."""

_QUIET = 4
_FOLDED_BYTES = 1 << 20


def open_session(model: ModelProto) -> onnxruntime.InferenceSession:
    """Load a model, without files beside it and without unbounded work at load."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = _QUIET
    for name, value in (
        ("session.model_external_initializers_file_folder_path", "/nonexistent"),
        ("optimization.constant_folding_max_output_size_in_bytes", str(_FOLDED_BYTES)),
    ):
        options.add_session_config_entry(name, value)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


class RowBatches:
    """A model on any number of rows: all at once, or as many at a time as it is declared for.

    Parameters
    ----------
    model : ModelProto
        As `Graph.cut` gives it: without declared shapes of its outputs.
    feeds : sequence of Feed
        Its inputs.
    """

    def __init__(self, model: ModelProto, feeds: Sequence[Feed]) -> None:
        self._model = model
        self._feeds = feeds
        self._declared = next((feed.row_count for feed in feeds if feed.row_count), None)

    @cached_property
    def together(self) -> Run:
        """All rows in one call; the declared number of rows is lifted."""
        return self._run(self._model if self._declared is None else _lifted(self._model))

    @cached_property
    def apart(self) -> Run:
        """As many rows per call as declared, or one: slow, and right for any model."""
        if self._declared is None:
            return _in_chunks(self.together, 1)
        return _in_chunks(self._run(self._model), self._declared)

    def once(self, feeds: Mapping[str, Array]) -> list[Array]:
        """Evaluate the first of some rows, as many as declared, or one; answers as they are."""
        count = len(next(iter(feeds.values())))
        first = np.arange(self._declared or 1) % count
        return self._run(self._model)({name: rows[first] for name, rows in feeds.items()})

    def _run(self, model: ModelProto) -> Run:
        run = open_session(model).run
        outputs = [output.name for output in model.graph.output]
        flat = frozenset(feed.input.name for feed in self._feeds if feed.is_flat)
        if not flat:
            return lambda feeds: run(outputs, feeds)
        return lambda feeds: run(
            outputs,
            {name: rows.reshape(-1) if name in flat else rows for name, rows in feeds.items()},
        )


def _lifted(model: ModelProto) -> ModelProto:
    """The same model for any number of rows."""
    lifted = ModelProto()
    lifted.CopyFrom(model)
    for value in lifted.graph.input:
        if value.type.tensor_type.shape.dim:
            value.type.tensor_type.shape.dim[0].dim_param = "rows"
    return lifted


def _in_chunks(run: Run, size: int) -> Run:
    """Run `size` rows per call, the last ones filled up by repetition."""

    def chunked(feeds: Mapping[str, Array]) -> list[Array]:
        count = len(next(iter(feeds.values())))
        filled = np.arange(-(-count // size) * size) % count
        answers = [
            run({name: rows[filled[start : start + size]] for name, rows in feeds.items()})
            for start in range(0, count, size)
        ]
        return [_joined(parts, size)[:count] for parts in zip(*answers, strict=True)]

    return chunked


def _joined(parts: Sequence[Array], size: int) -> Array:
    """One output of several calls of `size` rows each."""
    for part in parts:
        if part.shape[:1] != (size,):
            raise ValueError(f"for {size} rows it gives an answer of shape {part.shape}")
    return np.concatenate(parts)
