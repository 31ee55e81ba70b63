"""Command `plot`: renders the Vega-Lite plots of an answer as SVG, PNG or HTML."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from onnxplain.v1.explanation_service_pb2 import ExplainResponse

from onnxplain_server.cli import files
from onnxplain_server.cli.failure import in_short
from onnxplain_server.cli.output.formats import PlotFormat, of_ending
from onnxplain_server.wire import canonical


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
    form: Annotated[
        PlotFormat | None,
        typer.Option(
            "--format", help="Output format.  [default: by the ending of the file; else svg]"
        ),
    ] = None,
    output_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output file; default: standard output.")
    ] = None,
) -> None:
    """Render a plot of an answer; as HTML and without a name, the whole answer."""
    from onnxplain_server.cli.output.drawing import drawn

    with in_short():
        answer = canonical.decode(files.read(response), ExplainResponse)
        chosen = form or of_ending(PlotFormat, output_file) or PlotFormat.SVG
        with files.destination(output_file) as write:
            write(drawn(answer, name, measure, chosen))
