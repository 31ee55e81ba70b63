"""Arguments of a request: a TypedDict, the function that writes the message, `Client.explain`."""

from __future__ import annotations

from tools.python_client.contract import Contract
from tools.python_client.fields import Argument, Field, fields
from tools.python_client.source import described, docstring, enumeration, head

_POSITIONAL = ("model", "table", "methods")

_IMPORTS = """
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from onnxplain.errors import ShortTracebacks
from onnxplain.requests.fitted_calls import FittedCalls
from onnxplain.progress import ProgressCallback
from onnxplain.requests.forms import (
    Method, to_expressions, to_input_columns, to_labels, to_method, to_names,
    to_output_names
)
from onnxplain.requests.models import to_model, to_model_name
from onnxplain.requests.references import to_reference
from onnxplain.requests.written import written
from onnxplain.results.explanations import Explanations
from onnxplain.tables import to_table
from onnxplain.transport.uploads import File, files_of
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
"""

_TIMEOUT = Argument(
    "timeout", "float | None", "None", "float, optional", "Seconds. Default: the client's."
)
_PROGRESS = Argument(
    "progress",
    "ProgressCallback | bool",
    "True",
    "bool or callable (done, planned)",
    "True shows a bar in a notebook, or on standard error if that is a terminal; elsewhere "
    "nothing. A callable gets the number of rows predicted, and an upper bound of it.",
)

_RAISES = """ExplainError
    Where the server refuses, or does not answer.
OSError, TypeError, ValueError
    Where model, table or options cannot be read."""

_EXAMPLES = """>>> client.explain(
...     "model.onnx",
...     frame,
...     onnxplain.Interactions(pairwise_feature_count=3),
...     onnxplain.PartialDependence(features=["age", ("age", "bmi")]),
...     target_column="charges",
... )"""


def module(contract: Contract) -> str:
    """Return the source of the module."""
    request = contract.message("ExplainRequest")
    taken = list(fields(contract, request))
    enums = [field.enum_type for field in request.fields if field.enum_type]
    options = [a for f in taken for a in f.arguments if f.name not in _POSITIONAL]
    positional = [a for f in taken for a in f.arguments if f.name in _POSITIONAL]
    parts = [
        *(enumeration(contract, kind) for kind in enums),
        _typed_dict(options),
        _to_request(taken, options),
        _explain(positional, options),
    ]
    about = "Arguments of `Client.explain`, and the request that they make."
    body = "\n\n\n".join(parts)
    return f"{head(request.file.name, about)}{_IMPORTS}\n{body}\n"


def _typed_dict(options: list[Argument]) -> str:
    text = ["Keyword arguments of a request, for calls that pass them on."]
    doc = docstring(text, [("Attributes", described(options, 4))], 4)
    declared = "\n".join(f"    {option.name}: {option.annotation}" for option in options)
    return f"class RequestOptions(TypedDict, total=False):\n{doc}\n\n{declared}"


def _parameters(options: list[Argument]) -> str:
    return ", ".join(f"{o.name}: {o.annotation} = {o.default}" for o in options)


def _to_request(taken: list[Field], options: list[Argument]) -> str:
    given = ", ".join(f"{field.name}={field.expression}" for field in taken)
    return (
        f"def to_request(model: Any, table: Any, *methods: Method | str, {_parameters(options)}) "
        "-> ExplainRequest:\n"
        '    """Write a request; see `Client.explain` for the arguments."""\n'
        f"    return written(ExplainRequest, {given})"
    )


def _explain(positional: list[Argument], options: list[Argument]) -> str:
    starred = [
        Argument(f"*{a.name}" if a.name == "methods" else a.name, a.annotation, "", a.kind, a.text)
        for a in positional
    ]
    arguments = [*starred, *options, _TIMEOUT, _PROGRESS]
    sections = [
        ("Parameters", described(arguments, 8)),
        ("Raises", _RAISES),
        ("Examples", _EXAMPLES),
    ]
    doc = docstring(["Explain a model on the rows of a table."], sections, 8)
    given = ", ".join(f"{option.name}={option.name}" for option in options)
    return f'''class ExplainCall(FittedCalls, ABC):
    """Base of `Client`: the call `explain`, with an argument for each field of a request."""

    def explain(self, model: Any, table: Any, *methods: Method | str,
        {_parameters([*options, _TIMEOUT, _PROGRESS])}
    ) -> Explanations:
{doc}
        __tracebackhide__ = True
        with ShortTracebacks():
            model = self._file_of(model, table, feature_columns, timeout)
            request = to_request(model, table, *methods, {given})
            return self._explain(request, files_of(model, table), timeout, progress)

    @abstractmethod
    def _explain(
        self,
        request: ExplainRequest,
        files: Sequence[File],
        timeout: float | None,
        progress: ProgressCallback | bool,
    ) -> Explanations:
        """Send a request, with the files that it names by id at hand."""'''
