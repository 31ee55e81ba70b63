"""Sections of a page: sentences, figures, tables, and when not to rely on them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup
from onnxplain.v1.plot_pb2 import Plot

from onnxplain_server.core.errors import ExplainError
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.report.finding import Finding
from onnxplain_server.wire import canonical

# HTML escapes do not work inside <script>, and "</script>" would end the element, "<!--" change
# how its end is found. JSON escapes of these characters are safe.
_IN_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}

_IN_SIGHT = 3
"""Figures of a section among others; further ones are folded."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot of the page; `data` is JSON that is safe inside <script>."""

    title: str
    description: str
    data: Markup


@dataclass(frozen=True, slots=True)
class Section:
    """One method of the answer, or a comparison: its question, plots, findings and limits."""

    title: str
    figures: list[Figure]
    question: str = ""
    rows: str = ""
    limits: tuple[str, ...] = ()
    findings: list[Finding] = field(default_factory=list)
    sentences: tuple[str, ...] = ()
    has_key_figures: bool = False
    is_told_in_section: bool = False

    @property
    def shown_count(self) -> int:
        """Figures in sight where there are other sections; one alone is not worth folding."""
        count = len(self.figures)
        return count if count <= _IN_SIGHT + 1 else _IN_SIGHT


def figure_of(plot: Plot) -> Figure:
    """Return a plot as a figure; raises INVALID_REQUEST if it is not JSON."""
    # Parsed and written again, so that only JSON gets through.
    text = json.dumps(_specification(plot), ensure_ascii=False, separators=(",", ":"))
    data = Markup(text.translate(_IN_SCRIPT))  # noqa: S704 - escaped for where it stands
    return Figure(clean(plot.title), clean(plot.description), data)


def _specification(plot: Plot) -> Any:
    try:
        return canonical.read_object(plot.vega_lite.encode())
    except ExplainError as error:
        message = f"plot {clean(plot.name)}: {error.message}"
        raise ExplainError(error.reason, message, "vega_lite") from None
