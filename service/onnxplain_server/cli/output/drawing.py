"""Drawing of one plot of an answer, or of all on a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain.v1.plot_pb2 import Plot

from onnxplain_server.cli.failure import CommandError, UsageFault
from onnxplain_server.cli.output.formats import PlotFormat
from onnxplain_server.plots.marks import switch
from onnxplain_server.report import renderer
from onnxplain_server.wire import canonical


def drawn(
    answer: ExplainResponse, name: str | None, measure: str | None, form: PlotFormat
) -> bytes:
    """Draw the plot of that name, or the only one; as HTML and without a name, the whole answer.

    Parameters
    ----------
    answer : ExplainResponse
    name : str or None
    measure : str or None
        Measure that a plot with a choice of measures shows; None: the first.
    form : PlotFormat
    """
    if form is PlotFormat.HTML and name is None:
        from onnxplain_server.report import page

        return page.of_response(answer).encode()
    return _drawn(_with_measure(_find(answer, name), measure), form)


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


def _drawn(plot: Plot, form: PlotFormat) -> bytes:
    with _drawable():
        match form:
            case PlotFormat.VEGA_LITE:
                return plot.vega_lite.encode() + b"\n"
            case PlotFormat.SVG:
                return renderer.svg(plot.vega_lite).encode()
            case PlotFormat.PNG:
                return renderer.png(plot.vega_lite)
            case PlotFormat.HTML:
                from onnxplain_server.report import page

                return page.of_plot(plot).encode()


@contextmanager
def _drawable() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        cause = str(error).strip().splitlines()[0][:200]
        raise CommandError("INVALID_PLOT", f"the plot cannot be drawn: {cause}") from None
