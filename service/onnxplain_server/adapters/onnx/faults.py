"""Errors of onnx and onnxruntime, translated once, at the border.

Their text names files of the build machine, the working directory and whatever the model calls
its nodes, and its type is not dependable: UnicodeDecodeError and RuntimeError occur besides
onnxruntime's own. So everything is caught, and only a cleaned cause goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from onnxplain_server.core.errors import ExplainError, Reason

_CAUSE_LENGTH = 200
_READ_LENGTH = 5000
_PREFIX = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : (Exception during initialization: )?")
_PLACE = re.compile(
    r"\S+\.(h|cc|cpp):\d+ "  # the file of the runtime's source,
    r"([^\[]*\[with [^\]]*\]|[^()]*::[^()]*\([^()]*\)|\w+) ?"  # and the function in it
)
_CONDITION = re.compile(r"^.* was false\. (?=.)")
_PATH = re.compile(r"\S*[/\\]\S*")
_WIDTH = re.compile(r"input: (\S+) for.*index: 1 Got: (\d+) Expected: (\d+)")
_TYPE = re.compile(r"Actual: \(tensor\((\w+)\)\) , expected: \(tensor\((\w+)\)\)")
_MEMORY = re.compile(r"bad_alloc|bad allocation|[Ff]ailed to allocate|alloc failed|out of memory")
_NODE = re.compile(r"while running (\w+) node\..*?Status Message: (.*)")


@contextmanager
def loading() -> Iterator[None]:
    """Translate whatever reading a model raises to INVALID_MODEL or UNSUPPORTED_MODEL."""
    try:
        yield
    except ExplainError:
        raise
    except Exception as fault:  # noqa: BLE001 - foreign errors of any type end here
        refuse_for_memory(fault)
        if type(fault).__name__ == "NotImplemented":
            message = f"The runtime does not support this model: {cause(fault)}"
            raise ExplainError(Reason.UNSUPPORTED_MODEL, message, "model") from None
        message = f"The model is broken: {cause(fault)}"
        raise ExplainError(Reason.INVALID_MODEL, message, "model") from None


def prediction_failed(fault: Exception) -> ExplainError:
    """Translate what evaluating a model raised; OUT_OF_MEMORY is raised at once."""
    refuse_for_memory(fault)
    message = f"The model cannot be evaluated on these rows: {cause(fault)}"
    return ExplainError(Reason.PREDICTION_FAILED, message)


def refuse_for_memory(fault: Exception) -> None:
    """Raise OUT_OF_MEMORY where that is what a foreign error says."""
    if isinstance(fault, MemoryError) or _MEMORY.search(str(fault)[:_READ_LENGTH]):
        message = "The model needs more memory than this server gives to one request."
        raise ExplainError(Reason.OUT_OF_MEMORY, message) from None


def cause(fault: Exception) -> str:
    """One short line about a foreign error, without paths and unprintable characters."""
    text = _PREFIX.sub("", " ".join(str(fault)[:_READ_LENGTH].split()))
    if found := _WIDTH.search(text):
        name, given, taken = found.groups()
        return f"its input {_clean(name)!r} takes {taken} columns, not {given}"
    if found := _TYPE.search(text):
        given, taken = found.groups()
        return f"an input takes {taken}, not {given}"
    if found := _NODE.search(text):
        operator, status = found.groups()
        return f"in {operator}: {_clean(status)}"
    return _clean(text)


def _clean(text: str) -> str:
    reason = _CONDITION.sub("", _PLACE.sub("", text))
    shown = "".join(letter for letter in _PATH.sub("", reason) if letter.isprintable())
    return " ".join(shown.split())[:_CAUSE_LENGTH] or "no further cause is known"
