"""The model as explanations see it: columns in, prediction columns out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from onnx import ModelProto

from onnxplain_server.adapters.onnx.affine import is_affine
from onnxplain_server.adapters.onnx.columns import Columns
from onnxplain_server.adapters.onnx.faults import prediction_failed
from onnxplain_server.adapters.onnx.run import Run
from onnxplain_server.adapters.onnx.trees import read_trees
from onnxplain_server.arrays import Array
from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.model import Input, Note
from onnxplain_server.trees.ensemble import Ensemble
from onnxplain_server.trees.links import LinkedEnsemble
from onnxplain_server.trees.refusal import Refusal


class OnnxModel:
    """A loaded model; `model.Model` tells what it promises.

    Parameters
    ----------
    proto : ModelProto
        Cut to its outputs.
    inputs : tuple of Input
    columns : Columns
        What its outputs become.
    notes : tuple of Note
    run : Run
        Evaluates it, in several threads at once.
    """

    def __init__(
        self,
        proto: ModelProto,
        inputs: tuple[Input, ...],
        columns: Columns,
        notes: tuple[Note, ...],
        run: Run,
    ) -> None:
        self._proto = proto
        self.inputs = inputs
        self.output_names = columns.names
        self.notes = notes
        self._run = run
        self._columns = columns

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
        return is_affine(self._proto)

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        """Predict rows: name -> (n_rows, width) to (n_rows, n_outputs), as `model.Model` says."""
        try:
            answer = self._columns.arrange(self._run(feeds))
        except ExplainError:
            raise
        except Exception as fault:  # noqa: BLE001 - foreign errors of any type end here
            raise prediction_failed(fault) from None
        expected = (len(next(iter(feeds.values()))), len(self.output_names))
        if answer.shape != expected:
            message = f"The model gave an answer of shape {answer.shape} instead of {expected}."
            raise ExplainError(Reason.PREDICTION_FAILED, message)
        return answer
