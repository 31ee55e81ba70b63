"""Formatting of an answer as JSON, as tables for a terminal, or as an HTML page."""

from __future__ import annotations

from onnxplain.v1.explanation_service_pb2 import (
    CheckModelResponse,
    DescribeModelResponse,
    DescribeTableResponse,
    ExplainResponse,
    PredictResponse,
)
from onnxplain.v1.plan_pb2 import ExplanationPlan

from onnxplain_server.cli.output.formats import DescriptionOutput, Output, RowsOutput
from onnxplain_server.wire import canonical


def formatted(
    answer: ExplainResponse,
    output: Output | None,
    model_name: str,
    *,
    to_terminal: bool,
    target: str = "",
) -> bytes:
    """Format an answer.

    Parameters
    ----------
    answer : ExplainResponse
    output : Output or None
        None: an overview in a terminal, JSON elsewhere.
    model_name : str
        Shown in the HTML page.
    to_terminal : bool
        Whether tables have the colors and the width of the terminal.
    target : str
        The only column of true values that the request names; may be empty.
    """
    if output is None and to_terminal:
        from onnxplain_server.cli.output import overview

        return overview.of_response(answer, to_terminal=True, target=target).encode()
    match output or Output.JSON:
        case Output.JSON:
            text = canonical.encode(answer, is_indented=True) + "\n"
        case Output.TABLE:
            from onnxplain_server.cli.output import tables

            text = tables.of_response(answer, to_terminal=to_terminal, target=target)
        case Output.HTML:
            from onnxplain_server.report import page

            text = page.of_response(answer, model_name, target)
    return text.encode()


def formatted_plan(plan: ExplanationPlan, *, as_json: bool, to_terminal: bool) -> bytes:
    """Format a plan: as a table, or as JSON."""
    if as_json:
        return (canonical.encode(plan, is_indented=True) + "\n").encode()
    from onnxplain_server.cli.output import tables

    return tables.of_plan(plan, to_terminal=to_terminal).encode()


def formatted_description(
    answer: DescribeModelResponse, output: DescriptionOutput | None, *, to_terminal: bool
) -> bytes:
    """Format inputs and outputs of a model: as a table in a terminal, or as asked for."""
    if output is DescriptionOutput.TABLE or (output is None and to_terminal):
        from onnxplain_server.cli.output import tables

        return tables.of_model(answer.model, to_terminal=to_terminal).encode()
    return (canonical.encode(answer, is_indented=True) + "\n").encode()


def formatted_table(
    answer: DescribeTableResponse, output: DescriptionOutput | None, *, to_terminal: bool
) -> bytes:
    """Format what a table holds, likewise."""
    if output is DescriptionOutput.TABLE or (output is None and to_terminal):
        from onnxplain_server.cli.output import row_tables

        return row_tables.of_table(answer, to_terminal=to_terminal).encode()
    return (canonical.encode(answer, is_indented=True) + "\n").encode()


def formatted_predictions(
    answer: PredictResponse, output: RowsOutput | None, *, to_terminal: bool
) -> bytes:
    """Format predictions: as a table in a terminal, as JSON elsewhere, or as asked for."""
    match output or (RowsOutput.TABLE if to_terminal else RowsOutput.JSON):
        case RowsOutput.JSON:
            text = canonical.encode(answer, is_indented=True) + "\n"
        case RowsOutput.CSV:
            from onnxplain_server.cli.output import row_tables

            text = row_tables.csv_of_predictions(answer)
        case RowsOutput.TABLE:
            from onnxplain_server.cli.output import row_tables

            text = row_tables.of_predictions(answer, to_terminal=to_terminal)
    return text.encode()


def formatted_check(
    answer: CheckModelResponse, output: DescriptionOutput | None, *, to_terminal: bool
) -> bytes:
    """Format a comparison: as tables in a terminal, as JSON elsewhere, or as asked for."""
    if output is DescriptionOutput.TABLE or (output is None and to_terminal):
        from onnxplain_server.cli.output import row_tables

        return row_tables.of_check(answer, to_terminal=to_terminal).encode()
    return (canonical.encode(answer, is_indented=True) + "\n").encode()
