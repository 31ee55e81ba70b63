"""The command `options`: the options of a method with their types, limits and defaults."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator
from typing import Annotated

import typer
from onnxplain.suggestions import did_you_mean

from onnxplain_server.cli.failure import UsageFault
from onnxplain_server.cli.method_options import MethodOption, methods

_WIDEST = 100


def options(
    method: Annotated[
        str | None, typer.Argument(metavar="METHOD", help="Name of a method.")
    ] = None,
) -> None:
    """List the methods, or the options of METHOD for `explain --set`.

    onnxplain options interactions
    """
    known = methods()
    if method is None:
        for name, described in known.items():
            sentence = re.split(r"(?<=\.)\s", described.text, maxsplit=1)[0]
            typer.echo(f"{name}\n{_indented(sentence, 4)}")
        return
    method = method.lower()
    if method not in known:
        raise UsageFault(
            f"no method is named {method!r}{did_you_mean(method, known)}; there are "
            f"{', '.join(known)}"
        )
    typer.echo(_indented(f"{method}: {known[method].text}", 0))
    typer.echo("\n" + _indented(f"Rows by default (explain --row-count): {known[method].rows}.", 0))
    for option in known[method].options:
        typer.echo("\n" + "\n".join(_lines(option)))


def _lines(option: MethodOption) -> Iterator[str]:
    kind = "|".join(option.values) if option.values else option.type
    facts = (kind, option.limits, f"default: {option.default}" if option.default else "")
    yield _indented(f"{option.name} ({'; '.join(filter(None, facts))})", 2, hang=4)
    yield _indented(option.text, 6)
    for name, meaning in option.values.items():
        yield _indented(f"{name}: {meaning}", 6, hang=2)


def _indented(text: str, indent: int, hang: int = 0) -> str:
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    return "\n\n".join(
        textwrap.fill(
            paragraph,
            width,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hang),
            break_on_hyphens=False,
        )
        for paragraph in text.split("\n\n")
    )
