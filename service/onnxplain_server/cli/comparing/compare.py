"""Command `compare`: two answers, models or tables beside each other.

It takes the flags of `explain`, but for those of the output. Models are explained here, or at the
server of --endpoint; answers are compared here.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_type_hints

import typer
from onnxplain.uris import is_uri
from onnxplain.v1.explanation_comparison_pb2 import ComparisonOptions
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    MethodOptions,
    Reference,
)

from onnxplain_server.cli import backend, files
from onnxplain_server.cli.comparing.compare_flags import OTHERWISE, OWN, SIDES
from onnxplain_server.cli.connection import Connection
from onnxplain_server.cli.explain import explain
from onnxplain_server.cli.failure import DIFFERS, RULE_FAILED, UsageFault, in_short
from onnxplain_server.cli.files import STANDARD_INPUT
from onnxplain_server.cli.output import progress
from onnxplain_server.cli.requests import methods, remote_model, request
from onnxplain_server.cli.requests.text_columns import TextColumns
from onnxplain_server.wire import canonical

if TYPE_CHECKING:
    from onnxplain_server.methods.changes.rules import GateFinding

COMMAND_CLASS = methods.MethodCommand

_LEFT_OUT = {
    *("context", "model", "table", "request_file", "output", "result_uri"),
    *("plots", "replicates", "memory_bytes", "dask_scheduler", "dask_ca_file"),
    *("dask_certificate_file", "dask_key_file"),
    *(name for name in inspect.signature(explain).parameters if name.startswith("remote_")),
}
_OF_BOTH = frozenset({
    *("a", "b", "confidence_level", "correction", "leading_count", "rules", "junit_xml"),
    *("markdown", "output", "output_file", "verbose"),
})  # fmt: skip
"""Parameters that apply to two kept answers."""


def compare(context: typer.Context, **given: Any) -> None:
    """Compare two answers, models or tables: what has changed, and rules about it.

    A is the reference. Models are explained by the methods named, or else by interactions, and with
    a target by the average loss; B by those of A.

    onnxplain compare last_week.json this_week.json

    onnxplain compare champion.onnx challenger.onnx --table rows.csv --target-column price

    onnxplain compare model.onnx model.onnx --table train.csv --table-b test.csv

    onnxplain compare kept.json model.onnx --table today.parquet --rules rules.toml

    onnxplain compare last_week.json this_week.json --output-file changes.html
    """
    shown = {name: given[name] for name in ("a", "b", "table", "table_b")}
    with in_short(request.names(context, {**shown, "request": None})):
        findings = _compare(context, given)
    verdicts = {finding.verdict for finding in findings}
    if verdicts - {"HOLDS"}:
        raise typer.Exit(RULE_FAILED if "FAILS" in verdicts else DIFFERS)


def _compare(context: typer.Context, given: Mapping[str, Any]) -> list[GateFinding]:
    """Write what has changed; return what is known of the rules."""
    from onnxplain_server.cli.output.comparison_tables import write_comparison
    from onnxplain_server.wire.comparisons.comparison import (  # noqa: PLC0415 - help needs no numpy
        compare_answers,
    )
    from onnxplain_server.wire.comparisons.rules import (  # noqa: PLC0415 - likewise
        read_rules,
    )

    files.check_one_stdin([given[name] for name in ("a", "b", "table", "table_b", "rules")])
    rules = read_rules(files.read(given["rules"])) if given["rules"] else []
    if given["junit_xml"] and not rules:
        raise UsageFault("has the rules of --rules, which is not given", "--junit-xml")
    options = ComparisonOptions(
        confidence_level=given["confidence_level"],
        correction=given["correction"],
        leading_count=given["leading_count"],
    )
    reference = Reference(options=options)
    answer = _answers(context, given, reference)
    compared = compare_answers(reference, answer)
    findings = compared.judge(rules)
    paths = {name: given[name] for name in ("junit_xml", "markdown", "output_file")}
    write_comparison(compared, answer, findings, given["output"], paths)
    return findings


def _answers(
    context: typer.Context, given: Mapping[str, Any], reference: Reference
) -> ExplainResponse:
    """Read or compute both answers: that of A into the reference, that of B as the result."""
    from onnxplain_server.wire.comparisons.reference import (  # noqa: PLC0415 - likewise
        fill_from_reference,
    )

    before, after = (_kept(given[name]) for name in ("a", "b"))
    if before is None and after is not None:
        raise UsageFault("a kept answer is the reference: give it first, and the model after it")
    flags = _Flags(context, given)
    if before is not None and after is not None:
        flags.check_without(_OF_BOTH)
    if before is not None:
        flags.check_without_methods()
        if given["table"] and given["table_b"]:
            raise UsageFault("a kept answer needs no table: give that of B alone", "--table")
        reference.answer.CopyFrom(before)
    else:
        reference.answer.CopyFrom(flags.explain(flags.request("a", flags.table("table"))))
    if after is not None:
        return after
    table = given["table_b"] or flags.table("table")
    message = flags.request("b", table)
    del message.methods[:]
    message.reference.CopyFrom(reference)
    fill_from_reference(message)
    message.ClearField("reference")
    return flags.explain(message)


def _kept(path: str) -> ExplainResponse | None:
    """Read a kept answer; None for another file."""
    if is_uri(path):
        return None
    content = files.read(path)
    if content.lstrip()[:1] == b"{" and b'"explanations"' in content:
        return canonical.decode(content, ExplainResponse)
    if path == STANDARD_INPUT:
        raise UsageFault("standard input is a kept answer here; give a model as a file")
    return None


class _Flags:
    """Flags of `explain`, for either side."""

    def __init__(self, context: typer.Context, given: Mapping[str, Any]) -> None:
        self._context, self._given = context, given
        # Flags that `explain` has and this command does not.
        names = inspect.signature(explain).parameters
        self._absent = {**dict.fromkeys(names), **given}

    def table(self, name: str) -> str:
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
        texts = TextColumns(message, self._backend().describe)
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


def _use_flags_of_explain() -> None:
    """Give `compare` the parameters of `explain` that apply, for typer to read."""
    hints = get_type_hints(explain, include_extras=True)
    parameters = inspect.signature(explain).parameters
    sides = [
        parameters["context"].replace(annotation=hints["context"]),
        *(
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=hint)
            for name, hint in SIDES.items()
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
        inspect.Parameter(name, kind, default=None, annotation=hint) for name, hint in OWN.items()
    ]
    compare.__signature__ = inspect.Signature([*sides, *added, *taken])  # type: ignore[attr-defined] # read by inspect
    compare.__annotations__ = {each.name: each.annotation for each in (*sides, *added, *taken)}


_use_flags_of_explain()
