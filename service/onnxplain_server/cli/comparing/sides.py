"""Sides of a comparison in commands: kept answers, and models explained by flags of `explain`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_type_hints

import typer
from onnxplain.transport.rpcs import DESCRIBE
from onnxplain.uris import is_uri
from onnxplain.v1.explanation_comparison_pb2 import RuleFinding
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    MethodOptions,
    Reference,
)

from onnxplain_server.cli import backend, files
from onnxplain_server.cli.comparing.compare_flags import OTHERWISE
from onnxplain_server.cli.connection import Connection
from onnxplain_server.cli.explain import explain
from onnxplain_server.cli.failure import DIFFERS, RULE_FAILED, UsageFault
from onnxplain_server.cli.files import STANDARD_INPUT
from onnxplain_server.cli.output import progress
from onnxplain_server.cli.requests import methods, remote_model, request
from onnxplain_server.cli.requests.text_columns import TextColumns
from onnxplain_server.wire import canonical

if TYPE_CHECKING:
    from onnxplain_server.wire.comparisons.comparison import ComparedAnswers

_LEFT_OUT = {
    *("context", "model", "table", "request_file", "output", "result_uri"),
    *("plots", "replicates", "memory_bytes", "dask_scheduler", "dask_ca_file"),
    *("dask_certificate_file", "dask_key_file"),
    *(name for name in inspect.signature(explain).parameters if name.startswith("remote_")),
}

_NO_DEFAULTS: Mapping[str, Any] = MappingProxyType({})


def kept_answer(path: str) -> ExplainResponse | None:
    """Read a kept answer; None for another file."""
    if is_uri(path):
        return None
    content = files.read(path)
    if content.lstrip()[:1] == b"{" and b'"explanations"' in content:
        return canonical.decode(content, ExplainResponse)
    if path == STANDARD_INPUT:
        raise UsageFault("standard input is a kept answer here; give a model as a file")
    return None


def compare_sides(reference: Reference, answer: ExplainResponse) -> ComparedAnswers:
    """Compare an answer with a reference, as the server does, with sentences on what has changed.

    Raises
    ------
    ExplainError
        See `compare_answers`.
    """
    from onnxplain_server.report import summary  # noqa: PLC0415 - help needs no numpy
    from onnxplain_server.wire.comparisons.comparison import (  # noqa: PLC0415 - likewise
        compare_answers,
    )

    compared = compare_answers(reference, answer)
    compared.message.summary.extend(summary.of_changes(compared.message, answer))
    return compared


def exit_by(findings: Iterable[RuleFinding]) -> None:
    """End the command by the verdicts on rules; go on where all hold."""
    verdicts = {finding.verdict for finding in findings}
    if verdicts - {RuleFinding.HOLDS}:
        raise typer.Exit(RULE_FAILED if RuleFinding.FAILS in verdicts else DIFFERS)


class SideFlags:
    """Flags of `explain`, for either side."""

    def __init__(self, context: typer.Context, given: Mapping[str, Any]) -> None:
        self._context, self._given = context, given
        # Flags that `explain` has and this command does not.
        names = inspect.signature(explain).parameters
        self._absent = {**dict.fromkeys(names), **given}

    def table(self, name: str) -> str:
        """Return the path of a table; UsageFault without one."""
        path = self._given[name]
        if not path:
            raise UsageFault("models are explained on the rows of --table, which is not given")
        return str(path)

    def request(self, side: str, table: str) -> ExplainRequest:
        """Build the request for a side, which keeps its replicates."""
        given = {**self._absent, "model": self._given[side], "table": table}
        remote = remote_model.remote_model(given["model"], given)
        message = request.build(remote or given["model"], table, None, request.flags_of(given))
        message.plots, message.replicates = False, True
        texts = TextColumns(message, partial(self._backend().answer, DESCRIBE))
        asked = methods.from_context(self._context, texts)
        request.add_methods(message, asked or _default_methods(message))
        return message

    def check_without(self, others: Collection[str]) -> None:
        """Refuse flags that have no effect: those beside others."""
        for parameter in self._context.command.params:
            name = str(parameter.name)
            source = self._context.get_parameter_source(name)
            if source and source.name == "COMMANDLINE" and name not in others:
                raise UsageFault("has no effect on two kept answers", parameter.opts[0])

    def check_without_methods(self) -> None:
        """Refuse methods beside those of a kept answer."""
        if self._given["method"]:
            raise UsageFault("the methods are those of the kept answer", "--method")

    def explain(self, message: ExplainRequest) -> ExplainResponse:
        with progress.bar() as on_progress:
            return self._backend().explain(message, on_progress)

    def _backend(self) -> backend.Backend:
        given = self._given
        connection = Connection.from_flags(given)
        return backend.choose(self._context.obj, given["endpoint"], given["timeout"], connection)


def _default_methods(message: ExplainRequest) -> Sequence[MethodOptions]:
    chosen = MethodOptions()
    chosen.interactions.SetInParent()
    if not (message.target_column or message.target_columns):
        return [chosen]
    loss = MethodOptions()
    loss.average_loss.SetInParent()
    return [chosen, loss]


def use_flags_of_explain(
    command: Callable[..., None],
    arguments: Mapping[str, Any],
    own: Mapping[str, Any],
    defaults: Mapping[str, Any] = _NO_DEFAULTS,
) -> None:
    """Give a command the parameters of `explain` that apply to comparisons, for typer to read.

    Parameters
    ----------
    arguments : mapping of str to annotation
        The command's arguments.
    own : mapping of str to annotation
        Its options beside those of `explain`.
    defaults : mapping of str to object
        Their defaults that are not None; `...` for an option that must be given.
    """
    hints = get_type_hints(explain, include_extras=True)
    parameters = inspect.signature(explain).parameters
    sides = [
        parameters["context"].replace(annotation=hints["context"]),
        *(
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=hint)
            for name, hint in arguments.items()
        ),
    ]
    hints |= OTHERWISE
    taken = [
        parameter.replace(annotation=hints[name])
        for name, parameter in parameters.items()
        if name not in _LEFT_OUT
    ]
    kind = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(name, kind, default=defaults.get(name), annotation=hint)
        for name, hint in own.items()
    ]
    command.__signature__ = inspect.Signature([*sides, *added, *taken])  # type: ignore[attr-defined] # read by inspect
    command.__annotations__ = {each.name: each.annotation for each in (*sides, *added, *taken)}
