"""The command `plot`: pictures of an answer."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain.v1.plot_pb2 import Plot

from onnxplain_server.cli import files
from onnxplain_server.cli.draw import png, svg
from onnxplain_server.cli.failure import in_one_line
from onnxplain_server.report import page
from onnxplain_server.wire import canonical


class Format(Enum):
    """Forms of a picture."""

    VEGA_LITE = "vega-lite"
    SVG = "svg"
    PNG = "png"
    HTML = "html"


def plot(
    response: Annotated[
        str, typer.Argument(metavar="RESPONSE", help='Answer of `explain` as JSON; or "-".')
    ],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the plot; needed where there are several."),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="Form of the picture.")] = Format.SVG,
    output_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to; default standard output.")
    ] = None,
) -> None:
    """Draw a plot of an answer; or, as HTML and without a name, the whole answer."""
    with in_one_line():
        answer = canonical.decode(files.read(response), ExplainResponse)
        with files.destination(output_file) as write:
            if form is Format.HTML and name is None:
                write(page.of_response(answer).encode())
            else:
                write(_drawn(_find(answer, name), form))


def _find(answer: ExplainResponse, name: str | None) -> Plot:
    """Return the plot of that name, or the only one."""
    plots = [plot for explanation in answer.explanations for plot in explanation.plots]
    found = [plot for plot in plots if name in (None, plot.name)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(plot.name for plot in plots) or "none; it was asked for without plots"
    fault = f"{len(found)} plots are named {name!r}" if name else "name the plot by --name"
    raise typer.BadParameter(f"{fault}; the answer has {names}")


def _drawn(plot: Plot, form: Format) -> bytes:
    match form:
        case Format.VEGA_LITE:
            return plot.vega_lite.encode() + b"\n"
        case Format.SVG:
            return svg(plot.vega_lite)
        case Format.PNG:
            return png(plot.vega_lite)
        case Format.HTML:
            return page.of_plot(plot).encode()
