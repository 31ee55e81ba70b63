"""Summary of an answer: what was found, in plain sentences; each number is one of the answer.

A method has no sentence where a warning says that its numbers cannot be relied on.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxplain.v1.explanation_comparison_pb2 import ExplanationComparison
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation
from onnxplain.v1.model_pb2 import ModelDescription

from onnxplain_server.core.warnings import ALL, WARNINGS, InputWarning, MethodWarning, Tells
from onnxplain_server.plots.elements.labels import clean, enumerate_words
from onnxplain_server.report import facts, key_figures
from onnxplain_server.report.output_names import target_of, units_of_answer, with_names_of
from onnxplain_server.report.registry import (
    Answered,
    methods_with_curves,
    of_method,
    rankings,
)
from onnxplain_server.report.sentences import curves, leading
from onnxplain_server.report.sentences.changes import changed
from onnxplain_server.report.sentences.words import output_names, outputs_in_words


def of_answer(answer: ExplainResponse) -> list[str]:
    """Return the sentences on an answer whose outputs have their names for reports."""
    codes = {caution.code for caution in facts.warnings(answer)}
    if stops := sorted(code for code in codes if _silenced(code) == ALL):
        return [f"Nothing is summed up, because of {_warnings(stops)}."]
    sentences = [*_about(answer), *_leading(answer, codes)]
    answered = _answered(answer, codes)
    for explanation in answer.explanations:
        method = explanation.WhichOneof("result") or ""
        stops = sorted(code for code in codes if method in _silenced(code))
        if stops:
            title = of_method(method).title
            sentences.append(f"{title}: not summed up, because of {_warnings(stops)}.")
        else:
            sentences += of_method(method).sentences(explanation, answered)
    sentences += [told.message for told in facts.warnings_that_tell(answer, Tells.SENTENCE)]
    return _once(sentences)


def of_changes(comparison: ExplanationComparison, answer: ExplainResponse) -> list[str]:
    """Return the sentences on what has changed between an answer and its reference."""
    return list(changed(with_names_of(comparison, answer)))


def _once(sentences: list[str]) -> list[str]:
    """Keep each sentence once, where it stands last: what losses share stands below all of them."""
    return list(dict.fromkeys(reversed(sentences)))[::-1]


def in_key_figures(answer: ExplainResponse) -> list[str]:
    """Return the sentences whose numbers are all key figures: those on losses of all rows."""
    codes = {caution.code for caution in facts.warnings(answer)}
    answered = _answered(answer, codes)
    return [
        sentence
        for explanation in filter(key_figures.is_of_all_rows, answer.explanations)
        for sentence in of_method("average_loss").sentences(explanation, answered)
        if any(character.isdigit() for character in sentence)
    ]


def in_section(answer: ExplainResponse) -> list[str]:
    """Return the sentences that stand in a section of their own method, where shuffling ranks."""
    answered = _answered(answer, {caution.code for caution in facts.warnings(answer)})
    own = [
        (report, explanation)
        for explanation in answer.explanations
        if (report := of_method(explanation.WhichOneof("result") or "")).is_told_in_section
    ]
    if len(own) != 1 or not answered.most_harmful:
        return []
    report, explanation = own[0]
    return list(report.sentences(explanation, answered))


def in_warnings(answer: ExplainResponse) -> list[str]:
    """Return the sentences that a page tells among its warnings, where these stand beside."""
    messages = [
        caution.message
        for caution in facts.warnings(answer)
        if caution.code == MethodWarning.CURVES_EXTRAPOLATE.name
    ]
    return [
        sentence
        for message in messages
        for explanation in answer.explanations
        for sentence in curves.doubts_of_partial_dependence(explanation, message)
    ]


def _leading(answer: ExplainResponse, codes: set[str]) -> Iterator[str]:
    """Name the features that lead, where there are curves, or texts that can have none."""
    curves = [e for name in methods_with_curves() for e in _told(answer, name, codes)]
    has_texts = InputWarning.SINGLE_TEXTS.name in codes
    for method, ranking in rankings().items():
        found = _told(answer, method, codes)
        if (curves or has_texts) and found and (features := ranking.features(found[0])):
            first = curves[0] if curves else None
            own = leading.of_features(features, ranking.measure, first, has_texts=has_texts)
            yield from [own] if own else []
            return


def _answered(answer: ExplainResponse, codes: set[str]) -> Answered:
    """Return what sentences on one method take from the whole answer."""
    losses = [e.rows.used_row_count for e in answer.explanations if key_figures.is_of_all_rows(e)]
    ranked = [
        (ranking, found[0])
        for method, ranking in rankings().items()
        if (found := _told(answer, method, codes))
    ]
    firsts = (ranking.first(explanation) for ranking, explanation in ranked)
    return Answered(
        next(filter(None, firsts), ""),
        _is_linear(answer),
        max(losses, default=0),
        units_of_answer(answer),
        [name for ranking, explanation in ranked for name in ranking.most_harmful(explanation)],
    )


def _told(answer: ExplainResponse, method: str, codes: set[str]) -> list[Explanation]:
    """Return the explanations by a method about which no warning forbids to say anything."""
    if any(method in _silenced(code) for code in codes):
        return []
    return [e for e in answer.explanations if e.WhichOneof("result") == method]


def _silenced(code: str) -> tuple[str, ...]:
    """Return the methods about which nothing is said under a warning."""
    return WARNINGS[code].silences if code in WARNINGS else ()


def _is_linear(answer: ExplainResponse) -> bool:
    """Tell whether the outputs are a link of a sum over features: a linear map and no trees."""
    model = answer.model
    has_trees = any(name.rpartition(":")[2].startswith("TreeEnsemble") for name in model.operators)
    has_link = ModelDescription.MARGIN in model.scales
    return has_link and not has_trees and not answer.receipt.prediction


def _warnings(codes: list[str]) -> str:
    noun = "the warnings" if len(codes) > 1 else "the warning"
    return f"{noun} {enumerate_words(codes)}"


def _about(answer: ExplainResponse) -> Iterator[str]:
    """Say what the model predicts, on how many rows it is explained, and what it is."""
    counts = [e.rows.used_row_count for e in answer.explanations if e.HasField("rows")]
    if not answer.HasField("model") or not counts:
        return
    name = clean(answer.receipt.model_name) if answer.receipt.model_name else "The model"
    low, high = min(counts), max(counts)
    rows = f"{high:,} row{'s' * (high > 1)}" if low == high else f"{low:,} to {high:,} rows"
    yield f"{name} predicts {_outputs(answer)}; it is explained on {rows}."
    if answer.model.summary:
        yield clean(answer.model.summary)


def _outputs(answer: ExplainResponse) -> str:
    """Name the outputs: "class yes of subscribed", "a, b and c (classes of kind)", "price"."""
    words, target = outputs_in_words(answer), target_of(answer)
    if not target or not answer.model.has_class_scores or answer.receipt.prediction:
        return words
    if len(output_names(answer)) > 1:
        return f"{words} (classes of {clean(target)})"
    return f"{words if words.startswith('class ') else f'class {words}'} of {clean(target)}"
