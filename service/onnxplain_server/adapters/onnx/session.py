"""The model as explanations see it: columns in, prediction columns out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property

import numpy as np
from onnx import ModelProto

from onnxplain_server.adapters.onnx.analysis.affine import is_affine
from onnxplain_server.adapters.onnx.analysis.precision import FLOAT32, roundings
from onnxplain_server.adapters.onnx.analysis.reachable_columns import read_reach
from onnxplain_server.adapters.onnx.analysis.trees import read_trees
from onnxplain_server.adapters.onnx.evaluation import Run
from onnxplain_server.adapters.onnx.faults import prediction_failed
from onnxplain_server.adapters.onnx.output_columns import OutputColumns
from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input, Note
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.links import LinkedEnsemble
from onnxplain_server.trees.reading.refusal import Refusal


class OnnxModel:
    """A loaded model; `model.Model` tells what it promises.

    Parameters
    ----------
    proto : ModelProto
        Cut to its outputs.
    inputs : tuple of Input
    columns : OutputColumns
        What its outputs become.
    notes : tuple of Note
    run : Run
        Evaluates it, in several threads at once.
    inconsistency : str
        Why its answers are not to be relied upon; empty where rows tried show nothing.
    has_class_scores : bool
        Whether its columns score classes.
    judged : callable (OnnxModel, feeds, source) -> OnnxModel
        Judges it by rows of a table.
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
        judged: Callable[[OnnxModel, Mapping[str, Array], Indices], OnnxModel],
    ) -> None:
        self._proto = proto
        self.inputs = inputs
        self.output_names = columns.names
        self.notes = notes
        self.inconsistency = inconsistency
        self.has_class_scores = has_class_scores
        self._run = run
        self._judged = judged
        self._columns = columns
        self._reached: dict[int, Array] = {}

    def rechecked(self, feeds: Mapping[str, Array], source: Indices) -> OnnxModel:
        """The model, judged by rows that it is asked about, in place of those made up for it.

        Parameters
        ----------
        feeds : mapping of input name to (n_rows, width)
        source : (n_rows,)
            Their positions in the table.

        Returns
        -------
        OnnxModel
            Itself, where they show nothing new.
        """
        return self._judged(self, _native(feeds), source)

    def by(self, run: Run, notes: tuple[Note, ...], inconsistency: str) -> OnnxModel:
        """The same model evaluated in another way."""
        other = copy(self)
        vars(other).update(_run=run, notes=notes, inconsistency=inconsistency)
        return other

    @cached_property
    def trees(self) -> Ensemble | LinkedEnsemble | Refusal:
        """The trees that its columns are sums of, or a link of sums, or why there are none."""
        width = self.inputs[0].width if len(self.inputs) == 1 else None
        try:
            return read_trees(self._proto, self._columns.parts, self._columns.counts, width)
        except Exception:  # noqa: BLE001 - what the runtime has taken may still be nonsense
            return Refusal("its trees are written in a way that cannot be read")

    @cached_property
    def is_affine(self) -> bool:
        """Whether each prediction column is an affine function of the features."""
        try:
            return is_affine(self._proto)
        except Exception:  # noqa: BLE001 - what the runtime has taken may still be nonsense
            return False

    @cached_property
    def roundings(self) -> Vector:
        """Relative errors of its columns, as `model.Model` says."""
        columns = self._columns
        try:
            known = roundings(self._proto)
            parts = np.array([known.get(part.tensor, FLOAT32) for part in columns.parts])
        except Exception:  # noqa: BLE001 - what the runtime has taken may still be nonsense
            parts = np.full(len(columns.parts), FLOAT32)
        return np.repeat(parts, columns.counts)

    def unused(self, n_features: int, outputs: Indices) -> frozenset[int]:
        """Features that cannot reach these columns, as `model.Model` says."""
        if n_features not in self._reached:
            self._reached[n_features] = self._read_reached(n_features)
        reached = self._reached[n_features][outputs].any(axis=0)
        return frozenset(np.flatnonzero(~reached).tolist())

    def _read_reached(self, n_features: int) -> Array:
        """Which features may reach which prediction columns: (n_outputs, n_features)."""
        columns = self._columns
        try:
            reach = read_reach(self._proto, n_features)
            parts = np.stack([reach[part.tensor] for part in columns.parts])
        except Exception:  # noqa: BLE001 - what the runtime has taken may still be nonsense
            return np.ones((len(columns.names), n_features), dtype=bool)
        return np.repeat(parts, columns.counts, axis=0)

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        """Predict rows: name -> (n_rows, width) to (n_rows, n_outputs), as `model.Model` says."""
        try:
            answer = self._columns.arrange(self._run(_native(feeds)))
        except ExplainError:
            raise
        except Exception as fault:  # noqa: BLE001 - foreign errors of any type end here
            raise prediction_failed(fault) from None
        expected = (len(next(iter(feeds.values()))), len(self.output_names))
        if answer.shape != expected:
            message = f"The model gave an answer of shape {answer.shape} instead of {expected}."
            raise ExplainError(Reason.PREDICTION_FAILED, message)
        return answer


def _native(feeds: Mapping[str, Array]) -> Mapping[str, Array]:
    """Bring numbers into this machine's byte order, which the runtime takes for granted."""
    if all(rows.dtype.isnative for rows in feeds.values()):
        return feeds
    return {name: rows.astype(rows.dtype.newbyteorder("=")) for name, rows in feeds.items()}
