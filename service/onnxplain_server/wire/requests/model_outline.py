"""Outline of a model file: whether its bytes can be an ONNX model, by tags and lengths alone.

The server process parses no models. This look keeps other files from being stored under an id; the
worker that loads a model checks it as a whole.
"""

from __future__ import annotations

from collections.abc import Collection

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.messages.native_files import native_format
from onnxplain_server.core.messages.no_model import no_model
from onnxplain_server.wire.scanning.field_scan import MessageField, TooManyFieldsError, scan

_GRAPH = 7  # ModelProto.graph
_NODE, _OUTPUT = 1, 12  # GraphProto.node, GraphProto.output


def check_outline(content: bytes | bytearray) -> None:
    """Refuse bytes that are no ModelProto with a graph of nodes and outputs, and no native file.

    No bytes at all are left to the refusal of what is empty, native tree files to their readers.

    Raises
    ------
    ExplainError
        INVALID_MODEL, which tells what the file is, where that shows.
    """
    if not content or native_format(content) is not None:
        return
    graphs = _fields(content, 0, len(content), {_GRAPH})
    if graphs is None:
        return
    # Of a message that stands twice, parsers merge both.
    found: set[int] = set()
    for graph in graphs:
        parts = _fields(content, graph.value_start, graph.end, {_NODE, _OUTPUT})
        if parts is None:
            return
        found.update(part.number for part in parts)
    if found != {_NODE, _OUTPUT}:
        raise _refusal(content)


def _fields(
    content: bytes | bytearray, start: int, end: int, numbers: Collection[int]
) -> list[MessageField] | None:
    """Return the fields of these numbers; None where there are too many to look at each."""
    try:
        return list(scan(content, start, end, "ModelProto", numbers))
    except TooManyFieldsError:
        return None
    except ExplainError:
        raise _refusal(content) from None


def _refusal(content: bytes | bytearray) -> ExplainError:
    return ExplainError(Reason.INVALID_MODEL, no_model(content), "model")
