"""Command `plot`: renders the Vega-Lite plots of an answer as SVG, PNG or HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
import vl_convert
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain.v1.plot_pb2 import Plot

from onnxplain_server.cli import files
from onnxplain_server.cli.failure import CommandError, UsageFault, in_short
from onnxplain_server.plots.elements import switch
from onnxplain_server.report import page
from onnxplain_server.wire import canonical

# Newest release in vl-convert of the major version of the plots.
_VEGA_LITE = "6.4"

# Pixels per unit, for sharp print and dense screens.
_SCALE = 2.0


class Format(Enum):
    """Output formats of a plot."""

    VEGA_LITE = "vega-lite"
    SVG = "svg"
    PNG = "png"
    HTML = "html"


def plot(
    response: Annotated[
        str, typer.Argument(metavar="RESPONSE", help='JSON output of `explain`; or "-".')
    ],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the plot; required if there are several."),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE",
            help="Measure that a plot with a choice of measures shows: size or share.  "
            "[default: size]",
        ),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.SVG,
    output_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output file; default: standard output.")
    ] = None,
) -> None:
    """Render a plot of an answer; as HTML and without a name, the whole answer."""
    with in_short():
        answer = canonical.decode(files.read(response), ExplainResponse)
        with files.destination(output_file) as write:
            if form is Format.HTML and name is None:
                write(page.of_response(answer).encode())
            else:
                write(_drawn(_with_measure(_find(answer, name), measure), form))


def _find(answer: ExplainResponse, name: str | None) -> Plot:
    """Return the plot of that name, or the only one."""
    plots = [plot for explanation in answer.explanations for plot in explanation.plots]
    matches = [plot for plot in plots if name in (None, plot.name)]
    if len(matches) == 1:
        return matches[0]
    names = ", ".join(plot.name for plot in plots) or "none; it was computed without plots"
    problem = f"{len(matches)} plots are named {name!r}" if name else "choose the plot by --name"
    raise UsageFault(f"{problem}; the answer has {names}", "--name")


def _with_measure(plot: Plot, measure: str | None) -> Plot:
    """Set the switch of a plot to a measure."""
    if measure is None:
        return plot
    specification = canonical.read_object(plot.vega_lite.encode())
    choices = switch.measures(specification)
    if measure not in choices:
        known = " and ".join(choices) or "no choice of measures"
        raise UsageFault(f"the plot {plot.name} has {known}, not {measure!r}", "--measure")
    chosen = switch.show(specification, measure)
    return Plot(
        name=plot.name,
        title=plot.title,
        description=plot.description,
        vega_lite=json.dumps(chosen, ensure_ascii=False),
    )


def _drawn(plot: Plot, form: Format) -> bytes:
    match form:
        case Format.VEGA_LITE:
            return plot.vega_lite.encode() + b"\n"
        case Format.SVG:
            return _svg(plot.vega_lite)
        case Format.PNG:
            return _png(plot.vega_lite)
        case Format.HTML:
            return page.of_plot(plot).encode()


def _svg(vega_lite: str) -> bytes:
    """Draw as SVG, without network access."""
    with _drawable():
        text: str = vl_convert.vegalite_to_svg(
            vega_lite, vl_version=_VEGA_LITE, allowed_base_urls=[]
        )
    return text.encode()


def _png(vega_lite: str) -> bytes:
    """Draw as PNG, without network access."""
    with _drawable():
        return bytes(
            vl_convert.vegalite_to_png(
                vega_lite, vl_version=_VEGA_LITE, allowed_base_urls=[], scale=_SCALE
            )
        )


@contextmanager
def _drawable() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        cause = str(error).strip().splitlines()[0][:200]
        raise CommandError("INVALID_PLOT", f"the plot cannot be drawn: {cause}") from None
