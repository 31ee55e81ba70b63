"""Self-contained HTML page of an answer, which needs no network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation
from onnxplain.v1.plot_pb2 import Plot

from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.warnings import Tells
from onnxplain_server.plots.elements.labels import clean, distinguish
from onnxplain_server.report import facts, key_figures, summary
from onnxplain_server.report.finding import Finding, by_output
from onnxplain_server.report.key_figures import KeyFigure
from onnxplain_server.report.output_names import units_of_answer, with_output_names
from onnxplain_server.report.page_rules import page_rules
from onnxplain_server.report.registry import of_explanations, of_method, place
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
    """One method of the answer: its question, plots, findings and limits."""

    title: str
    figures: list[Figure]
    question: str = ""
    rows: str = ""
    limits: tuple[str, ...] = ()
    findings: list[Finding] = field(default_factory=list)
    has_key_figures: bool = False
    is_told_in_section: bool = False

    @property
    def shown_count(self) -> int:
        """Figures in sight where there are other sections; one alone is not worth folding."""
        count = len(self.figures)
        return count if count <= _IN_SIGHT + 1 else _IN_SIGHT


@dataclass(frozen=True, slots=True)
class _TemplateParser:
    title: str
    sections: list[Section]
    summary: list[str] = field(default_factory=list)
    key_figures: list[KeyFigure] = field(default_factory=list)
    key_figure_count: int = 0
    sentences_in_tiles: list[str] = field(default_factory=list)
    sentences_in_section: list[str] = field(default_factory=list)
    leading_count: int = 0
    options: list[str] = field(default_factory=list)
    warnings: list[facts.Caution] = field(default_factory=list)
    remarks: list[facts.Caution] = field(default_factory=list)
    model: list[facts.Fact] = field(default_factory=list)
    receipt: list[facts.Fact] = field(default_factory=list)


def of_response(answer: ExplainResponse, file_name: str = "", target: str = "") -> str:
    """Render the page of an answer.

    Parameters
    ----------
    answer : ExplainResponse
        Untrusted: names are escaped, specifications parsed and written anew.
    file_name : str
        Name in the title where the answer names no model, such as that of the table.
    target : str
        Column of the true values; see `with_output_names`.

    Raises
    ------
    ExplainError
        INVALID_REQUEST if a plot is not JSON.
    """
    named = with_output_names(answer, target)
    figures, rules = key_figures.of_answer(named), page_rules()
    sections = _sections(named)
    are_shown = len(sections) > 1 and 0 < len(figures) <= rules.most_key_figures
    sentences, in_tiles, in_section = _sentences(named, has_tiles=are_shown)
    return _render(
        _TemplateParser(
            summary=sentences,
            title=_title(answer, answer.receipt.model_name or file_name),
            key_figures=figures,
            key_figure_count=rules.most_key_figures,
            leading_count=rules.leading_sentences,
            sections=sections,
            sentences_in_tiles=in_tiles,
            sentences_in_section=in_section,
            options=[facts.options(explanation) for explanation in answer.explanations],
            warnings=facts.warnings_that_tell(answer, Tells.DOUBT),
            remarks=facts.warnings_that_tell(answer, Tells.HOW_IT_WAS_MADE),
            model=facts.model(answer.model),
            receipt=facts.receipt(answer.receipt),
        )
    )


def _sentences(
    named: ExplainResponse, *, has_tiles: bool
) -> tuple[list[str], list[str], list[str]]:
    """Return the sentences of the head, without those of warnings; of key figures; of a section."""
    sentences = summary.of_answer(named)
    of_tiles = summary.in_key_figures(named) if has_tiles else []
    in_tiles = [sentence for sentence in sentences if sentence in of_tiles]
    of_section = summary.in_section(named)
    in_section = [sentence for sentence in sentences if sentence in of_section]
    elsewhere = {*in_tiles, *in_section, *summary.in_warnings(named)}
    return [each for each in sentences if each not in elsewhere], in_tiles, in_section


def _title(answer: ExplainResponse, name: str) -> str:
    name = clean(name) if name else ""
    if answer.HasField("model"):
        return f"What {name or 'the model'} has learned"
    return f"Explanation of {name}" if name else "Explanation"


def of_plot(plot: Plot) -> str:
    """Render a page with one plot; raises INVALID_REQUEST if it is not JSON."""
    return _render(
        _TemplateParser(title=clean(plot.title), sections=[Section("", [_figure(plot)])])
    )


def _sections(answer: ExplainResponse) -> list[Section]:
    """Return the sections in the order of reading; losses of all rows, mere numbers, share one."""
    titles = distinguish(facts.title(explanation) for explanation in answer.explanations)
    pairs = sorted(zip(answer.explanations, titles, strict=True), key=lambda pair: _place(pair[0]))
    tables = of_explanations([explanation for explanation, _ in pairs], units_of_answer(answer))
    parts = [(*pair, findings) for pair, findings in zip(pairs, tables, strict=True)]
    plain = [part for part in parts if key_figures.is_of_all_rows(part[0])]
    others = [part for part in parts if not key_figures.is_of_all_rows(part[0])]
    sections = [*(_section(*part) for part in others), *_losses(plain)]
    told: set[tuple[str, ...]] = set()
    for k, section in enumerate(sections):
        # Explanations by one method have the same limits.
        sections[k] = replace(section, limits=() if section.limits in told else section.limits)
        told.add(section.limits)
    return sections


def _place(explanation: Explanation) -> tuple[bool, int]:
    """Return the place in the order of reading."""
    method = explanation.WhichOneof("result") or ""
    return key_figures.is_of_all_rows(explanation), place(method)


def _losses(parts: list[tuple[Explanation, str, list[Finding]]]) -> Iterator[Section]:
    """Join the losses of all rows; a plot of a single bar would say no more than its number."""
    made = [_section(*part) for part in parts]
    if made:
        several = [
            explanation for explanation, _, _ in parts if not key_figures.is_single(explanation)
        ]
        yield replace(
            made[0],
            title=made[0].title if len(made) == 1 else of_method("average_loss").title,
            rows="; ".join(dict.fromkeys(section.rows for section in made)),
            figures=[_figure(plot) for explanation in several for plot in explanation.plots],
            findings=[finding for section in made for finding in section.findings],
            has_key_figures=True,
        )


def _section(explanation: Explanation, title: str, findings: list[Finding]) -> Section:
    report = of_method(explanation.WhichOneof("result") or "")
    return Section(
        title=title,
        question=report.question,
        rows=facts.rows(explanation),
        limits=report.limits,
        figures=[_figure(plot) for plot in explanation.plots],
        findings=[by_output(finding) for finding in findings],
        is_told_in_section=report.is_told_in_section,
    )


def _figure(plot: Plot) -> Figure:
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


def _render(page: _TemplateParser) -> str:
    scripts = [_asset("vega.js"), _asset("drawing.js") + _asset("page.js")]
    template = _environment().get_template("page.html")
    return template.render(
        page=page,
        style=Markup(_asset("look.css") + _asset("page.css")),  # noqa: S704 - our own
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - our own, and vega-embed
        script_hashes=[_hash(script) for script in scripts],
    )


def _breakable(text: str) -> Markup:
    """Escape a text, and let lines break behind the signs that join the parts of a name."""
    return Markup(re.sub(r"(?<=[_/.:])(?=[^\s_/.:\d])", "<wbr>", str(escape(text))))  # noqa: S704


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("onnxplain_server.report", "."),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = _breakable
    return environment


@cache
def _asset(name: str) -> str:
    return files("onnxplain_server.report").joinpath(name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """Return the hash by which the page's content security policy allows a script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
