"""Table of commands, and the group that imports a command's module when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from onnxplain_server.cli.terminal.verbosity import verbose_flag

SUMMARIES: Mapping[str, str] = MappingProxyType(
    {
        "explain": "Explain MODEL on the rows of TABLE: by an overview, or by the methods named.",
        "plan": "Tell what explaining MODEL on the rows of TABLE would take, without computing it.",
        "options": "List the methods, or the options of METHOD for `explain --set`.",
        "predict": "Predict rows of TABLE by MODEL.",
        "check": "Compare MODEL with what its library predicts for TABLE; exit code 3 where they "
        "differ.",
        "compare": "Compare two answers, models or tables: what has changed, and rules about it.",
        "watch": "Explain MODEL on the newest rows, and compare with a kept answer; to be run by a "
        "scheduler.",
        "replay": "Make an answer again from its receipt, and compare both; exit code 3 where they "
        "differ.",
        "describe": "Describe the inputs and outputs of MODEL, or the columns and rows of TABLE.",
        "plot": "Render a plot of an answer; as HTML and without a name, the whole answer.",
        "demo": "Explain a model of house prices in Miami, and write an HTML report.",
        "ui": "Open the page for MODEL and TABLE in a browser, at a server of its own.",
        "health": "Check the health of a server; exit code 0 only if it is serving.",
        "start": "Start explaining MODEL on TABLE at a server; print the operation's name.",
        "wait": "Wait for OPERATION and write its answer; exit code 1 if it has none.",
        "operations": "List your operations; or get, cancel or delete some, or print their parts.",
        "serve": "Serve gRPC and REST until SIGTERM or SIGINT.",
        "explainer": "Serve as the explainer container of KServe, whose arguments it takes too.",
        "settings": "Print the settings that `serve` would start with, and where each comes from.",
        "token": "Make a token: print it, and on a second line its entry for the server's "
        "--tokens-file.",
        "version": "Print the version.",
    }
)
"""First sentence of each command's help, by its name; module and function have that name too."""

_FOLDERS = {
    **dict.fromkeys(("start", "wait", "operations"), "long_running."),
    **dict.fromkeys(("predict", "check"), "rows."),
    **dict.fromkeys(("compare", "watch", "replay"), "comparing."),
    "demo": "demonstration.",
}

_WITHOUT_VERBOSE = ("serve", "explainer")
"""Their flags are the settings, and errors are told in full."""

_HELP_FLAGS = {"help_option_names": ["-h", "--help"]}


class LazyGroup(TyperGroup):
    """Group of commands that have a name and a summary only, until one is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that was called, and its arguments."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, command(name) if name else listed, rest


@cache
def command(name: str) -> Any:
    """Import a command; what typer makes of its function, with all flags."""
    module = import_module(f"{__package__}.{_FOLDERS.get(name, '')}{name}")
    single = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings=_HELP_FLAGS,
    )
    kind = getattr(module, "COMMAND_CLASS", TyperCommand)
    single.command(name, cls=kind)(getattr(module, name))
    found = typer.main.get_command(single)
    if name not in _WITHOUT_VERBOSE:
        found.params.append(verbose_flag())
    return found


app = typer.Typer(
    name="onnxplain",
    cls=LazyGroup,
    help="Explain what an ONNX model has learned.",
    epilog=(
        "Exit codes: 0 success; 1 error, in short on the last line of standard error, in full by "
        "--verbose; 2 usage error; 3 predictions differ, of `check`, an "
        "answer, of `replay`, or a rule is undecided, of `compare` and `watch`; 4 a rule fails, of "
        "these; 130 interrupted by Ctrl-C."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # errors in one line, without a frame
    context_settings=_HELP_FLAGS,
)


def _print_version(*, is_asked: bool) -> None:
    """Answer `--version` as the command `version` does."""
    if is_asked:
        command("version").main([], prog_name=app.info.name)


@app.callback()
def _flags(
    *,
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Flags before a command."""


def _listed() -> None:
    """Stand for a command in the list: `LazyGroup` calls the command itself."""


for _name, _summary in SUMMARIES.items():
    app.command(_name, help=_summary)(_listed)
