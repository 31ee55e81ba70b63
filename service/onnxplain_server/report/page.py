"""Self-contained HTML page of an answer, which needs no network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape
from onnxplain.v1.explanation_comparison_pb2 import ExplanationComparison
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation
from onnxplain.v1.plot_pb2 import Plot

from onnxplain_server.core.warnings import Tells
from onnxplain_server.plots.elements.labels import clean, distinguish
from onnxplain_server.report import facts, key_figures, summary
from onnxplain_server.report.changes.change_figures import change_figures
from onnxplain_server.report.changes.change_sections import change_sections, reference_facts
from onnxplain_server.report.finding import Finding, by_output
from onnxplain_server.report.key_figures import KeyFigure
from onnxplain_server.report.output_names import (
    units_of_answer,
    with_names_of,
    with_output_names,
)
from onnxplain_server.report.page_rules import page_rules
from onnxplain_server.report.pages.sections import Section, figure_of
from onnxplain_server.report.registry import of_explanations, of_method, place
from onnxplain_server.report.sentences.changes import changed


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
    sections = [*_changes(answer), *_sections(named)]
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


def of_comparison(
    comparison: ExplanationComparison,
    answer: ExplainResponse,
) -> str:
    """Render the page of a comparison, whose outputs have their names for reports.

    Parameters
    ----------
    answer : ExplainResponse
        That was compared with the reference.

    Raises
    ------
    ExplainError
        INVALID_REQUEST if a plot is not JSON.
    """
    figures = list(change_figures(comparison, answer))
    before, after = comparison.reference_model_name, answer.receipt.model_name
    names = [clean(name) if name else "the model" for name in dict.fromkeys((before, after))]
    what = f"in {names[0]}" if len(names) == 1 else f"from {names[0]} to {names[1]}"
    return _render(
        _TemplateParser(
            title=f"What has changed {what}",
            summary=list(changed(comparison, has_key_figures=bool(figures))),
            key_figures=figures,
            key_figure_count=page_rules().most_key_figures,
            leading_count=1,
            sections=change_sections(comparison, has_key_figures=bool(figures)),
            model=facts.model(answer.model),
            receipt=[*reference_facts(comparison), *facts.receipt(answer.receipt)],
            options=[facts.options(explanation) for explanation in answer.explanations],
        )
    )


def _changes(answer: ExplainResponse) -> list[Section]:
    """Return the sections of what has changed since the reference, where there is one."""
    if not answer.HasField("comparison"):
        return []
    comparison = with_names_of(answer.comparison, answer)
    return change_sections(comparison, sentences=tuple(changed(comparison)))


def of_plot(plot: Plot) -> str:
    """Render a page with one plot; raises INVALID_REQUEST if it is not JSON."""
    return _render(
        _TemplateParser(title=clean(plot.title), sections=[Section("", [figure_of(plot)])])
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
            figures=[figure_of(plot) for explanation in several for plot in explanation.plots],
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
        figures=[figure_of(plot) for plot in explanation.plots],
        findings=[by_output(finding) for finding in findings],
        is_told_in_section=report.is_told_in_section,
    )


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
