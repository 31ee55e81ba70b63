"""Command `plan`: what an explanation would take, by the flags of `explain`."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, get_type_hints

import typer
from onnxplain.transport.rpcs import PLAN

from onnxplain_server.cli import explain as explain_command
from onnxplain_server.cli import files
from onnxplain_server.cli.output.formats import is_for_terminal
from onnxplain_server.cli.output.formatting import formatted_plan

COMMAND_CLASS = explain_command.COMMAND_CLASS

_OF_ANSWERS = ("output", "output_file")
"""Flags of `explain` that a plan has no use for."""
_Json = Annotated[bool, typer.Option("--json", help="Print canonical JSON in place of a table.")]


def plan(context: typer.Context, **flags: Any) -> None:
    """Tell what explaining MODEL on the rows of TABLE would take, without computing it.

    It takes the flags of `explain`.

    onnxplain plan model.onnx rows.csv --method interactions
    """
    with explain_command.asked(context) as (chosen, message):
        planned = chosen.answer(PLAN, message)
        with files.destination(None) as write:
            to_terminal = is_for_terminal(None)
            write(formatted_plan(planned, as_json=flags["json"], to_terminal=to_terminal))


def _signature() -> inspect.Signature:
    """Return the parameters of `explain` that apply, and `json`: typer makes the flags of them."""
    hints = get_type_hints(explain_command.explain, include_extras=True)
    parameters = [
        parameter.replace(annotation=hints[name])
        for name, parameter in inspect.signature(explain_command.explain).parameters.items()
        if name not in _OF_ANSWERS
    ]
    as_json = inspect.Parameter(
        "json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_Json
    )
    return inspect.Signature([*parameters, as_json])


plan.__signature__ = _signature()  # type: ignore[attr-defined] # functions take attributes
plan.__annotations__ = {
    name: parameter.annotation for name, parameter in _signature().parameters.items()
}
