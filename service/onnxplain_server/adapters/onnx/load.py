"""From the bytes of a model to something that predicts, or to a description of it."""

from __future__ import annotations

from onnxplain_server.adapters.onnx.faults import loading
from onnxplain_server.adapters.onnx.graph import Graph
from onnxplain_server.adapters.onnx.inputs import read_inputs
from onnxplain_server.adapters.onnx.outputs import Part, read_parts
from onnxplain_server.adapters.onnx.read import read
from onnxplain_server.adapters.onnx.session import OnnxModel, arrange_columns
from onnxplain_server.adapters.onnx.trial import attempt
from onnxplain_server.model import Note

_ROW_BY_ROW = Note(
    "ROW_BY_ROW",
    "The model cannot evaluate several rows at once, so each is evaluated on its own; this is "
    "slow. Export it with a symbolic batch dimension.",
)
_LABELS_ONLY = Note(
    "LABELS_ONLY",
    "The model gives only class labels: each class is explained as 1 where it is predicted and 0 "
    "elsewhere. Probabilities or scores tell more; export the model with them.",
)


def load(content: bytes) -> OnnxModel:
    """Load a model.

    Parameters
    ----------
    content : bytes
        The whole .onnx file.

    Raises
    ------
    ExplainError
        INVALID_MODEL, UNSUPPORTED_MODEL or EXTERNAL_DATA.
    """
    with loading():
        graph = read(content)
        return _open(graph, read_parts(graph))


def _open(graph: Graph, parts: tuple[Part, ...]) -> OnnxModel:
    feeds = read_inputs(graph)
    trial = attempt(graph.cut(part.tensor for part in parts), feeds)
    names, arrange = arrange_columns(parts, trial.answers)
    notes = (_LABELS_ONLY,) * parts[0].is_label + (_ROW_BY_ROW,) * trial.is_apart
    return OnnxModel(tuple(feed.input for feed in feeds), names, notes, trial.run, arrange)
