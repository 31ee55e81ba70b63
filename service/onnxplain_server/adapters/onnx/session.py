"""Loaded model: feature columns in, prediction columns out, with lazy analyses of the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property
from typing import TypeVar

import numpy as np
from onnx import ModelProto

from onnxplain_server.adapters.onnx.analysis.affine import is_affine
from onnxplain_server.adapters.onnx.analysis.call_size import size_dependent_operators
from onnxplain_server.adapters.onnx.analysis.precision import FLOAT32, roundings
from onnxplain_server.adapters.onnx.analysis.reachable_columns import read_reach
from onnxplain_server.adapters.onnx.analysis.row_work import row_seconds
from onnxplain_server.adapters.onnx.analysis.trees import read_trees
from onnxplain_server.adapters.onnx.batch_run import BatchRun
from onnxplain_server.adapters.onnx.evaluation import RowBatches, Run
from onnxplain_server.adapters.onnx.faults import prediction_failed
from onnxplain_server.adapters.onnx.output_columns import OutputColumns
from onnxplain_server.additive.kernel_model import KernelModel
from onnxplain_server.additive.model import AdditiveModel
from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input, Model, Note
from onnxplain_server.core.systems.memory import release_freed
from onnxplain_server.effects.layers.model import FirstLayers
from onnxplain_server.trees.reading.categories import read_categories
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.links import Trees
from onnxplain_server.trees.reading.refusal import Refusal

_T = TypeVar("_T")

_UNREAD_ROW_SECONDS = 1e-4
"""Of a model whose graph cannot be read."""
_MANY_NODES = 100_000
"""Nodes whose reading leaves much memory freed: 200 bytes each."""


class OnnxModel:
    """`core.model.Model` on onnxruntime.

    Parameters
    ----------
    proto : ModelProto
        Model, cut to its outputs.
    inputs : tuple of Input
    columns : OutputColumns
        Arrangement of its outputs.
    notes : tuple of Note
    run : Run
        Evaluation; safe for threads.
    inconsistency : str
        Why its answers are not reliable; empty if the trial rows show nothing.
    has_class_scores : bool
        Whether its columns score classes.
    is_binary : bool
        Whether its two columns score a class and its complement.
    recheck : callable (OnnxModel, feeds, source) -> OnnxModel
        Checks its consistency on rows of a table.
    runs : RowBatches
        Both evaluations that `run` was chosen of.
    read_additive : callable () -> AdditiveModel, KernelModel or Refusal
        Reads it as a link of sums of terms, or as a weighted sum of kernels.
    read_layers : callable (behind) -> FirstLayers or Refusal
        Reads its first layers; `behind` makes a model of an evaluation of the rest.
    """

    def __init__(
        self,
        proto: ModelProto,
        inputs: tuple[Input, ...],
        columns: OutputColumns,
        notes: tuple[Note, ...],
        run: Run,
        *,
        inconsistency: str,
        has_class_scores: bool,
        is_binary: bool,
        recheck: Callable[[OnnxModel, Mapping[str, Array], Indices], OnnxModel],
        runs: RowBatches,
        read_additive: Callable[[], AdditiveModel | KernelModel | Refusal],
        read_layers: Callable[[Callable[[Run], Model]], FirstLayers | Refusal],
    ) -> None:
        self._proto = proto
        self.inputs = inputs
        self.output_names = columns.names
        self.notes = notes
        self.inconsistency = inconsistency
        self.has_class_scores = has_class_scores
        self.is_binary = is_binary
        self._run = run
        self._recheck = recheck
        self._runs = runs
        self._read_additive = read_additive
        self._read_layers = read_layers
        self._columns = columns
        self._reached: dict[int, Array] = {}

    def rechecked(self, feeds: Mapping[str, Array], source: Indices) -> OnnxModel:
        """Return the model as rows of a table show it, in place of made-up trial rows.

        Parameters
        ----------
        feeds : mapping of input name to (n_rows, width)
        source : (n_rows,)
            Positions of the rows in the table.

        Returns
        -------
        OnnxModel
            The same object if the rows show nothing new.
        """
        return self._recheck(self, _native(feeds), source)

    @property
    def is_batched(self) -> bool:
        """True if all rows of a call are evaluated at once, and not in chunks."""
        return isinstance(self._run, BatchRun)

    def evaluated(self, *, is_batched: bool) -> OnnxModel:
        """Return the model with the evaluation that another process has chosen."""
        if is_batched == self.is_batched:
            return self
        run = self._runs.batched if is_batched else self._runs.chunked
        return self.with_run(run, self.notes, self.inconsistency)

    def with_run(self, run: Run, notes: tuple[Note, ...], inconsistency: str) -> OnnxModel:
        """Return a copy with another evaluation."""
        model = copy(self)
        vars(model).update(_run=run, notes=notes, inconsistency=inconsistency)
        for name in ("additive", "first_layers"):
            vars(model).pop(name, None)
        return model

    @cached_property
    def trees(self) -> Trees | Refusal:
        """Trees of which its columns are sums, also with linear functions, or links of sums."""
        width = self.inputs[0].width if len(self.inputs) == 1 else None
        try:
            if self._runs.values:  # of models without trees only: see `parse_apart`
                return Refusal("the model has no trees")
            trees = read_trees(self._proto, self._columns.parts, self._columns.counts, width)
        except Exception:  # noqa: BLE001 - a model that the runtime loads may still be inconsistent
            return Refusal("its trees are stored in a form that cannot be read")
        if isinstance(trees, Ensemble) and len(trees.feature) > _MANY_NODES:
            release_freed()
        return trees

    @cached_property
    def additive(self) -> AdditiveModel | KernelModel | Refusal:
        """Sums of terms whose link its columns are made of, or kernels that they add up."""
        if self.inconsistency or not self.is_batched:
            return Refusal("its rows are not computed independently of each other")
        try:
            return self._read_additive()
        except Exception:  # noqa: BLE001 - a model that the runtime loads may still be inconsistent
            return Refusal("its graph cannot be read")

    @cached_property
    def first_layers(self) -> FirstLayers | Refusal:
        """First layers, of which hybrid rows are made."""
        if self.inconsistency or not self.is_batched:
            return Refusal("its rows are not computed independently of each other")
        try:
            return self._read_layers(lambda run: self.with_run(run, self.notes, ""))
        except Exception:  # noqa: BLE001 - a model that the runtime loads may still be inconsistent
            return Refusal("its graph cannot be read")

    @cached_property
    def categories(self) -> frozenset[int]:
        """Features whose numbers are categories, as `core.model.category_features`."""
        trees = self.trees
        if isinstance(trees, Ensemble):
            return trees.categories
        if not isinstance(trees, Refusal):
            return trees.ensemble.categories
        width = self.inputs[0].width if len(self.inputs) == 1 else None
        try:
            return read_categories(self._proto, width)
        except Exception:  # noqa: BLE001 - a model that the runtime loads may still be inconsistent
            return frozenset()

    @cached_property
    def is_affine(self) -> bool:
        """True if each prediction column is an affine function of the features."""
        try:
            return is_affine(self._proto)
        except Exception:  # noqa: BLE001 - a model that the runtime loads may still be inconsistent
            return False

    @property
    def row_seconds(self) -> float:
        """Seconds that one thread takes for a row, by the operations of the graph: no clock."""
        try:
            return row_seconds(self._proto, is_batched=self.is_batched)
        except Exception:  # noqa: BLE001 - a model that the runtime loads may still be inconsistent
            return _UNREAD_ROW_SECONDS

    @cached_property
    def size_dependent_operators(self) -> tuple[str, ...]:
        """Operators whose rounding may depend on the number of rows in a call, sorted."""
        return size_dependent_operators(self._proto)

    @cached_property
    def roundings(self) -> Vector:
        """Relative rounding errors of its columns, as in `Model.roundings`."""
        columns = self._columns
        try:
            by_tensor = roundings(self._proto, self._runs.values)
            parts = np.array([by_tensor.get(part.tensor, FLOAT32) for part in columns.parts])
        except Exception:  # noqa: BLE001 - a model that the runtime loads may still be inconsistent
            parts = np.full(len(columns.parts), FLOAT32)
        return np.repeat(parts, columns.counts)

    def unused(self, n_features: int, outputs: Indices) -> frozenset[int]:
        """Return the features that cannot reach these columns, as in `Model.unused`."""
        if n_features not in self._reached:
            self._reached[n_features] = self._read_reached(n_features)
        reached = self._reached[n_features][outputs].any(axis=0)
        return frozenset(np.flatnonzero(~reached).tolist())

    def _read_reached(self, n_features: int) -> Array:
        """Compute which features may reach which prediction columns: (n_outputs, n_features)."""
        columns = self._columns
        try:
            reach = read_reach(self._proto, n_features, self._runs.values)
            parts = np.stack([reach[part.tensor] for part in columns.parts])
        except Exception:  # noqa: BLE001 - a model that the runtime loads may still be inconsistent
            return np.ones((len(columns.names), n_features), dtype=bool)
        return np.repeat(parts, columns.counts, axis=0)

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        """Predict rows: name -> (n_rows, width) to (n_rows, n_outputs), as in `Model.predict`."""
        return self._answer(self._run, _native(feeds), len(next(iter(feeds.values()))))

    def on_buffers(self, buffers: Mapping[str, Array]) -> Callable[[slice], Array]:
        """Return a function that predicts rows of these buffers, as `Model.on_buffers`."""
        run = self._run.on_buffers(buffers) if isinstance(self._run, BatchRun) else None
        if run is None:
            return lambda rows: self.predict({name: all_[rows] for name, all_ in buffers.items()})
        return lambda rows: self._answer(run, rows, rows.stop - rows.start)

    def _answer(self, run: Callable[[_T], list[Array]], rows: _T, count: int) -> Array:
        """Evaluate rows, and arrange the outputs: (count, n_outputs)."""
        try:
            answer = self._columns.arrange(run(rows))
        except ExplainError:
            raise
        except Exception as fault:  # noqa: BLE001 - foreign errors of any type end here
            raise prediction_failed(fault) from None
        expected = (count, len(self.output_names))
        if answer.shape != expected:
            message = f"The model gave an answer of shape {answer.shape} instead of {expected}."
            raise ExplainError(Reason.PREDICTION_FAILED, message)
        return answer


def _native(feeds: Mapping[str, Array]) -> Mapping[str, Array]:
    """Convert numbers to native byte order, which the runtime requires."""
    if all(rows.dtype.isnative for rows in feeds.values()):
        return feeds
    return {name: rows.astype(rows.dtype.newbyteorder("=")) for name, rows in feeds.items()}
