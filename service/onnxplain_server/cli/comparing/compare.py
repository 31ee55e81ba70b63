"""Command `compare`: two answers, models or tables beside each other.

It takes the flags of `explain`, but for those of the output. Models are explained here, or at the
server of --endpoint; answers are compared here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer
from onnxplain.v1.explanation_comparison_pb2 import ComparisonOptions, RuleFinding
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Reference

from onnxplain_server.cli import files
from onnxplain_server.cli.comparing.compare_flags import OWN, SIDES
from onnxplain_server.cli.comparing.sides import (
    SideFlags,
    compare_sides,
    exit_by,
    kept_answer,
    use_flags_of_explain,
)
from onnxplain_server.cli.failure import UsageFault, in_short
from onnxplain_server.cli.requests import methods, request

COMMAND_CLASS = methods.MethodCommand

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
    exit_by(findings)


def _compare(context: typer.Context, given: Mapping[str, Any]) -> Sequence[RuleFinding]:
    """Write what has changed; return what is known of the rules."""
    from onnxplain_server.cli.output.comparison_tables import write_comparison
    from onnxplain_server.wire.comparisons.rules import (  # noqa: PLC0415 - help needs no numpy
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
    reference = Reference(options=options, rules=rules)
    answer = _answers(context, given, reference)
    compared = compare_sides(reference, answer)
    paths = {name: given[name] for name in ("junit_xml", "markdown", "output_file")}
    write_comparison(compared, answer, given["output"], paths)
    return compared.message.findings


def _answers(
    context: typer.Context, given: Mapping[str, Any], reference: Reference
) -> ExplainResponse:
    """Read or compute both answers: that of A into the reference, that of B as the result."""
    from onnxplain_server.wire.comparisons.reference import (  # noqa: PLC0415 - likewise
        fill_from_reference,
    )

    before, after = (kept_answer(given[name]) for name in ("a", "b"))
    if before is None and after is not None:
        raise UsageFault("a kept answer is the reference: give it first, and the model after it")
    flags = SideFlags(context, given)
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


use_flags_of_explain(compare, SIDES, OWN)
