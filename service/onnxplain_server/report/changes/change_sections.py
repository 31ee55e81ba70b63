"""Sections of a page on what has changed: rules first, then plots and tables."""

from __future__ import annotations

from onnxplain.v1.explanation_comparison_pb2 import ExplanationComparison, ReplicatedStatistic
from onnxplain.v1.plot_pb2 import Plot

from onnxplain_server.report import facts
from onnxplain_server.report.changes import change_tables
from onnxplain_server.report.changes.change_tables import TextTable
from onnxplain_server.report.changes.change_words import change_words
from onnxplain_server.report.finding import Finding, Heading, truncate
from onnxplain_server.report.pages.sections import Section, figure_of

_NUMBERS = {
    *("before", "after", "change", "interval", "adjusted p", "points", "largest change"),
    *("features", "rank correlation", "NDCG"),
}
"""Titles of columns with numbers."""


def change_sections(
    comparison: ExplanationComparison,
    *,
    sentences: tuple[str, ...] = (),
    has_key_figures: bool = False,
) -> list[Section]:
    """Return the sections of a comparison whose outputs have their names for reports.

    Parameters
    ----------
    sentences : tuple of str
        What has changed, where no other part of the page tells it.
    has_key_figures : bool
        Whether key figures tell losses of all rows, whose plot would say no more.
    """
    is_told = has_key_figures and not _has_groups(comparison)
    words = change_words()
    changes = Section(
        words.title,
        [figure_of(plot) for plot in comparison.plots if not (is_told and _is_of_loss(plot))],
        question=words.question,
        limits=tuple(words.limits),
        findings=[table for table in _tables(comparison) if table.rows],
        sentences=(*sentences, comparison.pairing_reason),
    )
    if not comparison.findings:
        return [changes]
    note = "figures of the statistic nearest to failing"
    judged = _finding("Rules", note, change_tables.rules(comparison))
    return [Section("Rules", [], findings=[judged]), changes]


def _tables(comparison: ExplanationComparison) -> tuple[Finding, ...]:
    level, words = f"{comparison.options.confidence_level:.3g}", change_words()
    return (
        _finding("Numbers", f"{words.numbers} {level}", change_tables.differences(comparison)),
        _finding("Curves", "each tested as a whole", change_tables.curves(comparison)),
        _finding("Rankings", words.rankings, change_tables.rankings(comparison)),
        _finding("Not compared", words.unmatched, change_tables.unmatched(comparison)),
    )


def _has_groups(comparison: ExplanationComparison) -> bool:
    """Return whether losses are those of groups, which no key figure tells."""
    losses = (e for e in comparison.differences if e.kind == ReplicatedStatistic.AVERAGE_LOSS)
    return any(each.group for each in losses)


def _is_of_loss(plot: Plot) -> bool:
    return plot.name.startswith("change-average-loss-")


def reference_facts(comparison: ExplanationComparison) -> list[facts.Fact]:
    """Return what the receipt of an answer does not tell: the files of the reference."""
    digests = comparison.reference_model_digest, comparison.reference_table_digest
    names = "model of the reference", "table of the reference"
    return [
        facts.Fact(name, facts.short_digest(digest))
        for name, digest in zip(names, digests, strict=True)
        if digest
    ]


def _finding(title: str, note: str, table: TextTable) -> Finding:
    rows, left_out = truncate(table.rows, 1, "others")
    columns = tuple(Heading(name, is_number=name in _NUMBERS) for name in table.titles)
    return Finding(title, note, "", columns, tuple(rows), left_out)
