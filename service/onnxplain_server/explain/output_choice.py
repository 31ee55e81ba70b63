"""Choice of outputs: the request's positions or names of outputs, as positions in the model."""

from __future__ import annotations

from collections import Counter

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model, default_outputs
from onnxplain_server.core.table import listed
from onnxplain_server.explain.question import Question


def explained_outputs(question: Question, model: Model) -> Indices:
    """Return the positions of the outputs to explain: those requested, or the model's default.

    Raises
    ------
    ExplainError
        See `requested_outputs`.
    """
    names = model.output_names
    default = default_outputs(len(names), is_binary=model.is_binary)
    return np.array(requested_outputs(question, names) or default, dtype=np.intp)


def requested_outputs(question: Question, names: tuple[str, ...]) -> tuple[int, ...]:
    """Return the positions of the outputs that a request names; empty for the default.

    Parameters
    ----------
    names : tuple of str
        Names of the model's outputs.

    Raises
    ------
    ExplainError
        INVALID_OPTION for outputs that the model does not have, or that repeat.
    """
    indices, count = question.output_indices, len(names)
    if indices and question.outputs:
        raise _refused("give output_indices or outputs, not both", "outputs")
    is_beyond = any(not 0 <= index < count for index in indices)
    if is_beyond or len(set(indices)) < len(indices):
        raise _refused(
            f"output_indices are {list(indices)}; each must be in [0, {count - 1}], none twice",
            "output_indices",
        )
    return indices or tuple(_position(name, question.outputs, names) for name in question.outputs)


def _position(name: str, requested: tuple[str, ...], names: tuple[str, ...]) -> int:
    counts = Counter(names)
    if requested.count(name) > 1:
        raise _refused(f"outputs has {name!r} twice; give each output once", "outputs")
    if counts[name] > 1:
        raise _refused(
            f"{counts[name]} outputs of the model are called {name!r}; choose by output_indices",
            "outputs",
        )
    if name not in counts:
        raise _refused(
            f"the model has no output {name!r}; its outputs are {listed(names)}", "outputs"
        )
    return names.index(name)


def _refused(message: str, field: str) -> ExplainError:
    return ExplainError(Reason.INVALID_OPTION, message, field)
