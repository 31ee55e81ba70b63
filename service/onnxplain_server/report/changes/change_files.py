"""Files for CI: what has changed as Markdown, and rules as JUnit's XML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from onnxplain.v1.explanation_comparison_pb2 import ExplanationComparison, RuleFinding

from onnxplain_server.report.changes import change_tables
from onnxplain_server.report.changes.change_tables import TextTable
from onnxplain_server.report.sentences.changes import changed

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Extensible Markup Language (XML) 1.0, fifth edition, section 2.2, production Char."""


def markdown(comparison: ExplanationComparison) -> str:
    """Write the sentences, the rules, and the tables of a comparison."""
    return "\n".join(_lines(comparison)) + "\n"


def _lines(comparison: ExplanationComparison) -> Iterator[str]:
    yield from ("# What has changed", "", f"{_escaped(comparison.pairing_reason)}", "")
    yield from (f"- {_escaped(sentence)}" for sentence in changed(comparison))
    parts = {
        "Rules": change_tables.rules(comparison),
        "Numbers": change_tables.differences(comparison),
        "Curves": change_tables.curves(comparison),
        "Rankings": change_tables.rankings(comparison),
        "Not compared": change_tables.unmatched(comparison),
    }
    for title, table in parts.items():
        if table.rows:
            yield from ("", f"## {title}", "")
            yield from _table(table)


def _table(table: TextTable) -> Iterator[str]:
    yield f"| {' | '.join(table.titles)} |"
    yield "|" + " --- |" * len(table.titles)
    yield from (f"| {' | '.join(map(_escaped, row))} |" for row in table.rows)


def _escaped(text: str) -> str:
    """Keep names of features and rules from being markup, and in their line."""
    text = _printable(" ".join(text.splitlines()))
    for sign in "\\`*_[]<>|#":
        text = text.replace(sign, f"\\{sign}")
    return text


def _printable(text: str) -> str:
    """Replace characters that XML 1.0 cannot hold, not even escaped."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def junit_xml(comparison: ExplanationComparison) -> bytes:
    """Write the rules as a suite of tests: one that FAILS is a failure, UNDECIDED is an error."""
    verdicts = [RuleFinding.Verdict.Name(each.verdict) for each in comparison.findings]
    suite = ET.Element(
        "testsuite",
        name="onnxplain compare",
        tests=str(len(verdicts)),
        failures=str(verdicts.count("FAILS")),
        errors=str(verdicts.count("UNDECIDED")),
    )
    for finding, verdict in zip(comparison.findings, verdicts, strict=True):
        case = ET.SubElement(
            suite, "testcase", classname="onnxplain", name=_printable(finding.rule.name)
        )
        if verdict != "HOLDS":
            kind = "failure" if verdict == "FAILS" else "error"
            figures = _printable(change_tables.figures(finding))
            told = ET.SubElement(case, kind, message=f"{verdict}: {figures}")
            told.text = figures
    ET.indent(suite)
    written: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return written + b"\n"
