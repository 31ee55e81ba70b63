"""Output of `compare`: tables for a terminal, JSON, a page, and the files for CI."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from onnxplain.v1.explanation_comparison_pb2 import ExplanationComparison
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain.v1.plot_pb2 import Plot
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from onnxplain_server.cli import files
from onnxplain_server.cli.output.formats import Output, is_for_terminal, of_ending
from onnxplain_server.cli.output.tables import rendered
from onnxplain_server.report import page
from onnxplain_server.report.changes import change_files, change_tables
from onnxplain_server.report.changes.change_tables import TextTable
from onnxplain_server.report.output_names import output_naming, with_names_of
from onnxplain_server.report.sentences.changes import changed
from onnxplain_server.wire import canonical
from onnxplain_server.wire.comparisons.comparison import ComparedAnswers

_MAX_ROWS = 30


def write_comparison(
    compared: ComparedAnswers,
    answer: ExplainResponse,
    output: Output | None,
    paths: Mapping[str, Path | None],
    timelines: Callable[[], Sequence[Plot]] = tuple,
) -> None:
    """Write a comparison to its output, and to the files that are asked for beside it.

    Parameters
    ----------
    answer : ExplainResponse
        That was compared; it names outputs for people.
    paths : mapping of "junit_xml", "markdown" and "output_file" to path or None
    timelines : callable () -> sequence of Plot
        Draws earlier answers, for a page.
    """
    comparison = compared.message
    named = with_names_of(comparison, answer)
    if paths["junit_xml"]:
        with files.destination(paths["junit_xml"]) as write:
            write(change_files.junit_xml(named))
    if paths["markdown"]:
        with files.destination(paths["markdown"]) as write:
            write(change_files.markdown(named).encode())
    target = paths["output_file"]
    to_terminal = is_for_terminal(target)
    default = Output.TABLE if to_terminal else Output.JSON
    match output or of_ending(Output, target) or default:
        case Output.JSON:
            comparison.plots.extend(compared.plots(output_naming(answer)))
            text = canonical.encode(comparison, is_indented=True) + "\n"
        case Output.TABLE:
            text = rendered(list(_parts(named)), to_terminal=to_terminal)
        case Output.HTML:
            named.plots.extend([*timelines(), *compared.plots(output_naming(answer))])
            text = page.of_comparison(named, answer)
    with files.destination(target) as write:
        write(text.encode())


def _parts(comparison: ExplanationComparison) -> Iterator[RenderableType]:
    first, *others = changed(comparison)
    yield Text(first)
    yield from (Text(f"• {sentence}") for sentence in others)
    yield Text(comparison.pairing_reason, "dim")
    yield Text()
    tables = (
        change_tables.rules(comparison),
        change_tables.differences(comparison),
        change_tables.curves(comparison),
        change_tables.rankings(comparison),
        change_tables.unmatched(comparison),
    )
    for table in tables:
        yield from _table(table)


def _table(text: TextTable) -> Iterator[RenderableType]:
    if not text.rows:
        return
    table = Table(box=box.SIMPLE_HEAD)
    for title in text.titles:
        table.add_column(Text(title), overflow="fold")
    for row in text.rows[:_MAX_ROWS]:
        table.add_row(*map(Text, row))
    yield table
    if len(text.rows) > _MAX_ROWS:
        yield Text(f"{len(text.rows) - _MAX_ROWS:,} more: see --output json", "dim")
