"""Translation of errors of onnx and onnxruntime, in one place.

Their text contains paths of the build machine, the working directory and node names of the model,
and their types vary: UnicodeDecodeError and RuntimeError occur besides onnxruntime's own. So every
exception is caught, and only a sanitised cause is passed on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import onnxruntime

from onnxplain_server.core.errors import ExplainError, Reason

_CAUSE_LENGTH = 300
_READ_LENGTH = 5000
_PREFIX = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : (Exception during initialization: )?")
_PLACE = re.compile(
    r"\S+\.(h|cc|cpp):\d+ "  # source file of the runtime,
    r"([^\[]*\[with [^\]]*\]|[^()]*::[^()]*\([^()]*\)|\w+) ?"  # and function in it
)
_CONDITION = re.compile(r"^.* was false\. (?=.)")
_PATH = re.compile(r"\S*[/\\]\S*")
_WIDTH = re.compile(r"input: (\S+) for.*index: 1 Got: (\d+) Expected: (\d+)")
_TYPE = re.compile(r"Actual: \(tensor\((\w+)\)\) , expected: \(tensor\((\w+)\)\)")
_MEMORY = re.compile(r"bad_alloc|bad allocation|[Ff]ailed to allocate|alloc failed|out of memory")
_OPSET = re.compile(r"Opset (\d+) is under development.* domain (\S+) is till opset (\d+)")
_IR_VERSION = re.compile(r"IR version: (\d+), max supported IR version: (\d+)")
_LOCALE = re.compile(r"Failed to construct locale with name:([^:]*):")
_DOUBLE_TREES = re.compile(
    r"Type \(tensor\(double\)\) of output arg .{1,200} of node \(TreeEnsemble\w*\) does not match"
)
_NODE = re.compile(r"while running (\w+) node\..*?Status Message: (.*)")


@contextmanager
def loading() -> Iterator[None]:
    """Translate any error of reading a model to INVALID_MODEL or UNSUPPORTED_MODEL."""
    try:
        yield
    except ExplainError:
        raise
    except Exception as fault:  # noqa: BLE001 - foreign errors of any type end here
        refuse_for_memory(fault)
        text = str(fault)[:_READ_LENGTH]
        message = _too_new(text) or _without_locale(text)
        if type(fault).__name__ == "NotImplemented":
            message = f"The runtime does not support this model: {cause(fault)}"
        if message:
            raise ExplainError(Reason.UNSUPPORTED_MODEL, message, "model") from None
        message = _double_trees(text) or f"The model is broken: {cause(fault)}"
        raise ExplainError(Reason.INVALID_MODEL, message, "model") from None


def prediction_failed(fault: Exception) -> ExplainError:
    """Translate an error of evaluating a model; raises OUT_OF_MEMORY itself."""
    refuse_for_memory(fault)
    message = f"The model cannot be evaluated on these rows: {cause(fault)}"
    return ExplainError(Reason.PREDICTION_FAILED, message)


def refuse_for_memory(fault: Exception) -> None:
    """Raise OUT_OF_MEMORY if that is the meaning of a foreign error."""
    if isinstance(fault, MemoryError) or _MEMORY.search(str(fault)[:_READ_LENGTH]):
        message = (
            "The model needs more memory than this server allows for one request (setting "
            "worker_bytes)."
        )
        raise ExplainError(Reason.OUT_OF_MEMORY, message) from None


def _too_new(text: str) -> str:
    """Say that an opset or IR version is beyond those of the runtime; empty if none is."""
    runtime = f"onnxruntime {onnxruntime.__version__} takes"
    if match := _OPSET.search(text):
        own, domain, most = match.groups()
        domain = _clean(domain)
        target = most if domain == "ai.onnx" else f"{{{domain!r}: {most}}}"
        return (
            f"The model is too new: opset {own} of {domain}, while {runtime} opsets up to {most}. "
            f"Export it with target_opset={target}."
        )
    if match := _IR_VERSION.search(text):
        own, most = match.groups()
        return (
            f"The model is too new: IR version {own}, while {runtime} versions up to {most}. "
            f"Export it with an older onnx, or with a lower target_opset, or set its ir_version to "
            f"{most} where its opset allows that."
        )
    return ""


def _double_trees(text: str) -> str:
    """Say what to write in place of trees that skl2onnx gave outputs of doubles; else empty."""
    if not _DOUBLE_TREES.search(text):
        return ""
    return (
        "The model is broken: it names the outputs of its trees doubles, and these answer in "
        "float32. Write it with inputs of floats, FloatTensorType of skl2onnx in place of "
        "DoubleTensorType."
    )


def _without_locale(text: str) -> str:
    """Say which locale the model needs that the system does not have; empty if none."""
    match = _LOCALE.search(text)
    if not match:
        return ""
    return (
        f"A StringNormalizer of the model needs the locale {_clean(match[1])!r}, which this system "
        "does not have. Leave its attribute locale out, or install that locale."
    )


def cause(fault: Exception) -> str:
    """Return one short line about a foreign error, without paths and unprintable characters."""
    text = _PREFIX.sub("", " ".join(str(fault)[:_READ_LENGTH].split()))
    if match := _WIDTH.search(text):
        name, actual, expected = match.groups()
        return f"its input {_clean(name)!r} takes {expected} columns, not {actual}"
    if match := _TYPE.search(text):
        actual, expected = match.groups()
        return f"an input takes {expected}, not {actual}"
    if match := _NODE.search(text):
        operator, status = match.groups()
        return f"in {operator}: {_clean(status)}"
    return _clean(text)


def _clean(text: str) -> str:
    reason = _CONDITION.sub("", _PLACE.sub("", text))
    printable = "".join(letter for letter in _PATH.sub("", reason) if letter.isprintable())
    return _shortened(" ".join(printable.split())) or "no further cause is known"


def _shortened(text: str) -> str:
    """Cut a long text after a sentence, or else after a word."""
    if len(text) <= _CAUSE_LENGTH:
        return text
    start = text[:_CAUSE_LENGTH]
    sentence, word = start.rfind(". "), start.rfind(" ")
    if sentence > _CAUSE_LENGTH / 2:
        return start[: sentence + 1]
    return f"{start[:word] if word > _CAUSE_LENGTH / 2 else start} ..."
