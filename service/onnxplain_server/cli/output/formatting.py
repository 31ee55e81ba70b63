"""Formatting of an answer as JSON, as tables for a terminal, or as an HTML page."""

from __future__ import annotations

import io

from onnxplain.v1.explanation_service_pb2 import DescribeModelResponse, ExplainResponse
from onnxplain.v1.model_pb2 import ModelDescription
from rich import box
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from onnxplain_server.cli.output.formats import DescriptionOutput, Output
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.report import facts, page, registry, summary
from onnxplain_server.report.finding import Finding
from onnxplain_server.report.output_names import with_output_names
from onnxplain_server.wire import canonical

_PLAIN_WIDTH = 100
_UNLIMITED = 100_000

# The facts before digests and versions, which only JSON shows.
_RECEIPT_FACT_COUNT = 4


def formatted(
    answer: ExplainResponse, output: Output | None, model_name: str, *, to_terminal: bool
) -> bytes:
    """Format an answer.

    Parameters
    ----------
    answer : ExplainResponse
    output : Output or None
        None: tables in a terminal, JSON elsewhere.
    model_name : str
        Shown in the HTML page.
    to_terminal : bool
        Whether tables have the colors and the width of the terminal.
    """
    match output or (Output.TABLE if to_terminal else Output.JSON):
        case Output.JSON:
            text = canonical.encode(answer, indent=2) + "\n"
        case Output.TABLE:
            text = _explanation_tables(answer, to_terminal=to_terminal)
        case Output.HTML:
            text = page.of_response(answer, model_name)
    return text.encode()


def _explanation_tables(answer: ExplainResponse, *, to_terminal: bool) -> str:
    """Format warnings, findings and receipt."""
    answer = with_output_names(answer)
    parts: list[RenderableType] = [Text(" ".join(summary.of_answer(answer))), Text()]
    parts += [Text(f"Warning: {clean(w.message)}", "yellow") for w in facts.warnings(answer)]
    for explanation, findings in zip(answer.explanations, registry.of_answer(answer), strict=True):
        rows = facts.rows(explanation)
        if rows:
            parts.append(Text(f"{facts.title(explanation)}: {rows}", "dim"))
        for finding in findings:
            parts += _finding(finding)
    receipt = facts.receipt(answer.receipt)[:_RECEIPT_FACT_COUNT]
    parts.append(Text(" · ".join(f"{name}: {value}" for name, value in receipt), "dim"))
    return _rendered(parts, to_terminal=to_terminal)


def formatted_description(
    answer: DescribeModelResponse, output: DescriptionOutput | None, *, to_terminal: bool
) -> bytes:
    """Format inputs and outputs of a model: as a table in a terminal, or as asked for."""
    if output is DescriptionOutput.TABLE or (output is None and to_terminal):
        return _model_table(answer.model, to_terminal=to_terminal).encode()
    return (canonical.encode(answer, indent=2) + "\n").encode()


def _model_table(model: ModelDescription, *, to_terminal: bool) -> str:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.model(model):
        table.add_row(name, Text(value))
    return _rendered([table], to_terminal=to_terminal)


def _finding(finding: Finding) -> list[RenderableType]:
    parts: list[RenderableType] = [
        Text(finding.title, "bold"),
        Text(finding.note, "dim"),
        Text(f"Limit: {finding.limit}", "dim"),
        _table(finding),
    ]
    if finding.left_out:
        parts += [Text(finding.left_out, "dim"), Text()]
    return parts


def _table(finding: Finding) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in finding.columns:
        table.add_column(
            Text(column.title), justify="right" if column.is_number else "left", overflow="fold"
        )
    for row in finding.rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _rendered(parts: list[RenderableType], *, to_terminal: bool) -> str:
    """Render for the terminal, or as plain text, in which tables are as wide as they need."""
    width = None if to_terminal else _PLAIN_WIDTH
    console = Console(file=io.StringIO(), force_terminal=to_terminal, width=width)
    for part in parts:
        needed = _whole_width(part) if isinstance(part, Table) and not to_terminal else 0
        console.width = max(width or console.width, needed)
        console.print(part)
    text: str = console.file.getvalue()  # type: ignore[attr-defined] # the StringIO above
    return text


def _whole_width(table: Table) -> int:
    """Return the width of a table in which nothing is broken into lines."""
    console = Console(width=_UNLIMITED)
    return Measurement.get(console, console.options, table).maximum
