"""Overview of an answer for a terminal: sentences first, curves as sparklines, and short tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceCurve
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from onnxplain_server.cli.output.sparklines import WIDTH, resampled, sparkline
from onnxplain_server.cli.output.tables import head, receipt_line, rendered, table_of
from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.plots.claims.support import TOLD_OUTSIDE
from onnxplain_server.plots.elements.labels import clean, distinguish, shorten
from onnxplain_server.report import facts, key_figures, registry
from onnxplain_server.report.effect_findings import outside_text
from onnxplain_server.report.finding import Finding, joined, number
from onnxplain_server.report.output_names import units_of_answer, with_output_names

_ROW_COUNT = 6
"""Rows of a table that are shown."""
_CURVE_COUNT, _OUTPUT_COUNT = 12, 4
_NAME_LENGTH = 24
_LEADING = {"interactions": ("Importance", "Pairs")}
"""Tables that are shown of a method; of others, the first one."""
_FURTHER_CURVES = "Further curves: --output table"
_MORE = "All tables: --output table. Page with plots: --output-file page.html."


def of_response(answer: ExplainResponse, *, to_terminal: bool, target: str = "") -> str:
    """Format summary and warnings, then curves, and the first rows of the leading tables."""
    answer = with_output_names(answer, target)
    parts = head(answer)
    tables = registry.of_explanations(answer.explanations, units_of_answer(answer))
    for explanation, findings in zip(answer.explanations, tables, strict=True):
        if not key_figures.is_of_all_rows(explanation):
            parts += _method(explanation, findings)
    parts += [Text(_MORE, "dim"), receipt_line(answer)]
    return rendered(parts, to_terminal=to_terminal)


def _method(explanation: Explanation, findings: list[Finding]) -> Iterator[RenderableType]:
    """Yield title and rows of a method, then its curves or tables."""
    rows = facts.rows(explanation)
    title = facts.title(explanation)
    yield Text.assemble((title, "bold"), (f" · {rows}" if rows else "", "dim"))
    method = explanation.WhichOneof("result") or ""
    if registry.of_method(method).has_curves:
        yield from _curves(explanation)
        return
    leading = _LEADING.get(method, ())
    shown = [finding for name in leading for finding in findings if finding.title == name]
    for finding in shown or findings[:1]:
        if finding.title != title:
            yield Text(finding.title)
        yield table_of(replace(finding, rows=finding.rows[:_ROW_COUNT]))
        if len(finding.rows) > _ROW_COUNT or finding.left_out:
            yield Text("Further rows: --output table", "dim")


def _curves(explanation: Explanation) -> Iterator[RenderableType]:
    """Yield a line for each curve over one feature, with its ends and its values, by output."""
    result = explanation.partial_dependence
    outputs = distinguish(result.output_names)
    curves = [curve for curve in result.curves if len(curve.features) == 1]
    values = [np.array(curve.values).reshape(-1, len(outputs)) for curve in curves]
    for column, output in enumerate(outputs[:_OUTPUT_COUNT] if curves else ()):
        own = [both[:, column] for both in values]
        ends = _ends(np.concatenate(own))
        yield Text(f"Average prediction of {output}, on one scale")
        table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
        for justify in ("left", "right", "left", "left"):
            table.add_column(justify=justify)
        for curve, points in zip(curves[:_CURVE_COUNT], own, strict=False):
            table.add_row(*_line(curve, points, ends))
        yield table
    if len(curves) > _CURVE_COUNT or len(outputs) > _OUTPUT_COUNT:
        yield Text(_FURTHER_CURVES, "dim")


def _ends(values: Vector) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def _line(
    curve: PartialDependenceCurve, values: Vector, ends: tuple[float, float]
) -> tuple[RenderableType, ...]:
    """Return the cells of a curve: names, first grid point, sparkline, and what it spans."""
    group = f", {clean(curve.group)}" if curve.group else ""
    name = shorten(joined(curve.features) + group, _NAME_LENGTH)
    column = curve.grid[0]
    span = _span(values)
    if curve.outside_share > TOLD_OUTSIDE:
        span += f", {outside_text(curve)} outside the data"
    if column.strings:
        bars, first = sparkline(values[:WIDTH], *ends), f"{len(column.strings)} texts"
        return Text(name), Text(first), Text(bars), Text(span)
    grid: Vector = np.array(column.numbers)
    is_number = np.isfinite(grid)
    known: Matrix = np.array([grid[is_number], values[is_number]])
    bars = sparkline(resampled(*known), *ends)
    first, last = (number(known[0, at], grid) if known.size else "" for at in (0, -1))
    return Text(name), Text(first), Text(f"{bars} {last}"), Text(span)


def _span(values: Vector) -> str:
    low, high = _ends(values)
    return f"{number(low, values)} to {number(high, values)}"
