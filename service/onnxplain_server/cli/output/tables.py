"""Tables for a terminal: the findings of an answer, and the inputs and outputs of a model."""

from __future__ import annotations

import io

from onnxplain.progress import spell_time
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain.v1.model_pb2 import ModelDescription
from onnxplain.v1.plan_pb2 import ExplanationPlan, RemainingQuota, SecondsInterval
from rich import box
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from onnxplain_server.cli.output.table_layout import fitted
from onnxplain_server.core.warnings import Tells
from onnxplain_server.report import facts, registry, summary
from onnxplain_server.report.finding import Finding
from onnxplain_server.report.output_names import units_of_answer, with_output_names

_PLAIN_WIDTH = 100
_UNLIMITED = 100_000

# The facts before digests and versions, which only JSON shows.
_RECEIPT_FACT_COUNT = 4


def of_response(answer: ExplainResponse, *, to_terminal: bool, target: str = "") -> str:
    """Format summary, warnings, findings and receipt."""
    answer = with_output_names(answer, target)
    parts = head(answer)
    found = registry.of_explanations(answer.explanations, units_of_answer(answer))
    for explanation, findings in zip(answer.explanations, found, strict=True):
        rows = facts.rows(explanation)
        if rows:
            parts.append(Text(f"{facts.title(explanation)}: {rows}", "dim"))
        for finding in findings:
            parts += _finding(finding)
    parts.append(receipt_line(answer))
    return rendered(parts, to_terminal=to_terminal)


def head(answer: ExplainResponse) -> list[RenderableType]:
    """Write summary and warnings of an answer whose outputs have their names for reports."""
    warnings = [
        Text(f"Warning: {w.message} ({w.code})", "yellow")
        for what in (Tells.DOUBT, Tells.HOW_IT_WAS_MADE)
        for w in facts.warnings_that_tell(answer, what)
    ]
    return [*_listed(summary.of_answer(answer)), Text(), *warnings]


def receipt_line(answer: ExplainResponse) -> Text:
    """Write the facts of the receipt that a person may want."""
    receipt = facts.receipt(answer.receipt)[:_RECEIPT_FACT_COUNT]
    return Text(" · ".join(f"{name}: {value}" for name, value in receipt), "dim")


def _listed(sentences: list[str]) -> list[RenderableType]:
    """Write the first sentence as a line, and the others as a list below it."""
    return [Text(f"• {sentence}" if at else sentence) for at, sentence in enumerate(sentences)]


def of_model(model: ModelDescription, *, to_terminal: bool) -> str:
    """Format inputs and outputs of a model."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.model(model):
        table.add_row(name, Text(value))
    return rendered([table], to_terminal=to_terminal)


def of_plan(plan: ExplanationPlan, *, to_terminal: bool) -> str:
    """Format the methods of a plan, its sums, and the options that would make it shorter."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("method")
    table.add_column("engine")
    for title in ("rows", "to predict", "in the cache", "time"):
        table.add_column(title, justify="right")
    for method in plan.methods:
        bound = "" if method.is_exact else "at most "
        table.add_row(
            method.name,
            method.engine,
            f"{method.row_count:,}",
            f"{bound}{method.predicted_row_count:,.0f}",
            f"{method.cached_row_count:,.0f}",
            _span(method.seconds),
        )
    sums = f"Time: {_span(plan.seconds)} · memory: {_megabytes(plan.memory_byte_count)}"
    if plan.HasField("answer_byte_count"):
        sums += f" · answer: {_megabytes(plan.answer_byte_count)}"
    if plan.HasField("remaining_quota"):
        sums += f"\n{_remaining(plan.remaining_quota)}"
    savings = [
        Text(f"{s.field} {s.value:,} leaves {s.time_share:.0%} of the time. {s.accuracy}", "dim")
        for s in plan.savings
    ]
    return rendered([table, Text(sums), *savings], to_terminal=to_terminal)


def _span(seconds: SecondsInterval) -> str:
    if seconds.high < 1:
        return f"{seconds.low:.2g} to {seconds.high:.2g} s"
    return f"{spell_time(seconds.low)} to {spell_time(seconds.high)}"


def _remaining(quota: RemainingQuota) -> str:
    parts = []
    if quota.HasField("predicted_row_count"):
        parts.append(f"{quota.predicted_row_count:,.0f} rows to predict")
    if quota.HasField("processor_seconds"):
        parts.append(f"{quota.processor_seconds:,.1f} s of processor time")
    return f"The server still allows {' and '.join(parts)}."


def _megabytes(count: float) -> str:
    return f"{count / 1e6:,.2g} MB"


def _finding(finding: Finding) -> list[RenderableType]:
    parts: list[RenderableType] = [
        Text(finding.title, "bold"),
        Text(finding.note, "dim"),
        Text(f"Limit: {finding.limit}", "dim"),
        table_of(finding),
    ]
    if finding.left_out:
        parts += [Text(finding.left_out, "dim"), Text()]
    return parts


def table_of(finding: Finding) -> Table:
    """Make the table of a finding."""
    table = Table(box=box.SIMPLE_HEAD)
    for column in finding.columns:
        table.add_column(
            Text(column.title), justify="right" if column.is_number else "left", overflow="fold"
        )
    for row in finding.rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def rendered(parts: list[RenderableType], *, to_terminal: bool) -> str:
    """Render for the terminal, or as plain text, in which tables are as wide as they need."""
    width = None if to_terminal else _PLAIN_WIDTH
    console = Console(file=io.StringIO(), force_terminal=to_terminal, width=width)
    for part in parts:
        if isinstance(part, Table):
            if to_terminal:
                part = fitted(part, console.width)  # noqa: PLW2901 - the same table
            else:
                console.width = max(_PLAIN_WIDTH, _whole_width(part))
        console.print(part)
        console.width = width or console.width
    text: str = console.file.getvalue()  # type: ignore[attr-defined] # the StringIO above
    return text


def _whole_width(table: Table) -> int:
    """Return the width of a table in which nothing is broken into lines."""
    console = Console(width=_UNLIMITED)
    return Measurement.get(console, console.options, table).maximum
