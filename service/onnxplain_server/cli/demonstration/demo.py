"""Command `demo`: explains the model of Miami's house prices, and writes an HTML report."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Annotated

import typer

from onnxplain_server.cli import backend, files
from onnxplain_server.cli.failure import CommandError, in_short
from onnxplain_server.cli.output import formatting, progress
from onnxplain_server.cli.output.formats import Output, is_for_terminal
from onnxplain_server.cli.requests import request

_MODEL, _TABLE, _QUESTION = "miami.onnx", "miami_housing.csv", "request.json"
_ANSWER, _REPORT = "answer.json", "report.html"


def demo(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder that is written to.")
    ] = Path("onnxplain-demo"),
) -> None:
    """Explain a model of house prices in Miami, and write an HTML report.

    Model, table and request come with the package, and are written to the folder, too: for other
    questions to the same model, and as a pattern for one's own.
    """
    with in_short():
        model, table, question = (str(path) for path in _write_inputs(folder))
        message = request.build(model, table, question, {})
        chosen = backend.LocalBackend(context.obj, None)
        with progress.bar() as on_progress:
            answer = chosen.explain(message, on_progress)
        for output, path in (
            (Output.TABLE, None),
            (Output.JSON, folder / _ANSWER),
            (Output.HTML, folder / _REPORT),
        ):
            to_terminal = is_for_terminal(path)
            with files.destination(path) as write:
                write(formatting.formatted(answer, output, _MODEL, to_terminal=to_terminal))
    typer.echo(f"The answer as JSON: {folder / _ANSWER}. The report: {folder / _REPORT}")
    typer.echo(f'The same on a page, in a browser: onnxplain ui "{model}" "{table}"')


def _write_inputs(folder: Path) -> tuple[Path, ...]:
    """Write model, table and request; return their paths."""
    source = _source()
    contents = {
        _MODEL: (source / _MODEL).read_bytes(),
        _TABLE: gzip.decompress((source / f"{_TABLE}.gz").read_bytes()),
        _QUESTION: (source / _QUESTION).read_bytes(),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        cause = error.strerror or error
        raise CommandError("FILE_UNWRITABLE", f"cannot write to {folder}: {cause}") from None
    for name, content in contents.items():
        with files.destination(folder / name) as write:
            write(content)
    return tuple(folder / name for name in contents)


def _source() -> Path:
    """Return the folder of the example: that of the installed package, or of a checkout."""
    installed = Path(__file__).with_name("miami")
    return installed if installed.exists() else Path(__file__).parents[4] / "examples/miami"
