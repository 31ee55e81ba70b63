"""Verbosity of errors: one short line, or the whole message where `--verbose` asks for it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import typer

_VERBOSE = ContextVar("verbose", default=True)
"""Commands without the flag tell errors in full."""


def is_verbose() -> bool:
    """Return whether the command that runs was asked for whole messages."""
    return _VERBOSE.get()


def verbose_flag() -> Any:
    """Return the flag that each command has, which is read before all others."""
    single = typer.Typer(add_completion=False)
    single.command()(_with_flag)
    (flag,) = typer.main.get_command(single).params
    return flag


def _remember(*, is_asked: bool) -> None:
    _VERBOSE.set(is_asked)


def _with_flag(
    *,
    verbose: bool = typer.Option(
        False,
        "--verbose",
        callback=_remember,
        is_eager=True,
        expose_value=False,
        help="Tell errors in full.",
    ),
) -> None:
    """Stand for any command."""
