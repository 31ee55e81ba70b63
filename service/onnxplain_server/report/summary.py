"""Summary of an answer: what was found, in plain sentences; each number is one of the answer.

A method has no sentence where a warning says that its numbers cannot be relied on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation
from onnxplain.v1.model_pb2 import ModelDescription

from onnxplain_server.core.warnings import ALL, WARNINGS, Tells
from onnxplain_server.plots.elements.labels import clean, enumerate_words
from onnxplain_server.report import facts, key_figures
from onnxplain_server.report.output_names import target_of
from onnxplain_server.report.registry import of_method
from onnxplain_server.report.sentences import effects, leading, losses, vectors
from onnxplain_server.report.sentences.words import output_names, outputs_in_words

_SENTENCES: Mapping[str, Callable[[Explanation], Iterator[str]]] = MappingProxyType({
    "individual_conditional_expectation": effects.of_individual,
    "permutation_importance": losses.of_permutation_importance,
    "average_loss": losses.of_average_loss,
    "feature_vectors": vectors.of_vectors,
    "firm": effects.of_firm,
    "swarm": losses.of_swarm,
})  # fmt: skip


def of_answer(answer: ExplainResponse) -> list[str]:
    """Return the sentences on an answer whose outputs have their names for reports."""
    codes = {caution.code for caution in facts.warnings(answer)}
    if stops := sorted(code for code in codes if _silenced(code) == ALL):
        return [f"Nothing is summed up, because of {_warnings(stops)}."]
    sentences = [*_about(answer), *_leading(answer, codes)]
    for explanation in answer.explanations:
        method = explanation.WhichOneof("result") or ""
        stops = sorted(code for code in codes if method in _silenced(code))
        if stops:
            title = of_method(method).title
            sentences.append(f"{title}: not summed up, because of {_warnings(stops)}.")
        elif method == "partial_dependence":
            sentences += effects.of_partial_dependence(explanation, _most_important(answer, codes))
        elif method == "interactions":
            sentences += effects.of_interactions(explanation, is_linear=_is_linear(answer))
        elif method in _SENTENCES:
            sentences += _SENTENCES[method](explanation)
            sentences[-1:] = _on_fewer_rows(answer, explanation, sentences[-1:])
    sentences += [told.message for told in facts.warnings_that_tell(answer, Tells.SENTENCE)]
    return list(dict.fromkeys(sentences))


def _leading(answer: ExplainResponse, codes: set[str]) -> Iterator[str]:
    """Name the features that lead, where there are curves over them."""
    curves = _told(answer, "partial_dependence", codes)
    by_measures = (
        ("permutation_importance", leading.by_shuffling, "shuffling"),
        ("interactions", leading.by_size, "size of effect"),
    )
    for method, ranked, measure in by_measures:
        found = _told(answer, method, codes)
        if curves and found and (features := ranked(found[0])):
            sentence = leading.of_features(features, measure, curves[0])
            yield from [sentence] if sentence else []
            return


def _most_important(answer: ExplainResponse, codes: set[str]) -> str:
    """Return the feature that a sentence of this summary calls most important; or else empty."""
    of_methods = {
        "permutation_importance": losses.most_harmful,
        "interactions": effects.moving_most,
    }
    for method, most in of_methods.items():
        found = _told(answer, method, codes)
        if found and (name := most(found[0])):
            return name
    return ""


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


def _on_fewer_rows(
    answer: ExplainResponse, explanation: Explanation, sentences: list[str]
) -> list[str]:
    """Say that the loss before shuffling is of fewer rows than the loss that is told beside it."""
    if not explanation.HasField("permutation_importance"):
        return sentences
    counts = [e.rows.used_row_count for e in answer.explanations if key_figures.is_of_all_rows(e)]
    own = explanation.rows.used_row_count
    if own >= max(counts, default=0):
        return sentences
    return [f"{text[:-1]} ({own:,} of the rows)." for text in sentences]


def _warnings(codes: list[str]) -> str:
    noun = "the warnings" if len(codes) > 1 else "the warning"
    return f"{noun} {enumerate_words(codes)}"


def _about(answer: ExplainResponse) -> Iterator[str]:
    """Say what the model predicts, and on how many rows it is explained."""
    counts = [e.rows.used_row_count for e in answer.explanations if e.HasField("rows")]
    if not answer.HasField("model") or not counts:
        return
    name = clean(answer.receipt.model_name) if answer.receipt.model_name else "The model"
    low, high = min(counts), max(counts)
    rows = f"{high:,} rows" if low == high else f"{low:,} to {high:,} rows"
    yield f"{name} predicts {_outputs(answer)}; it is explained on {rows}."


def _outputs(answer: ExplainResponse) -> str:
    """Name the outputs: "class yes of subscribed", "a, b and c (classes of kind)", "price"."""
    words, target = outputs_in_words(answer), target_of(answer)
    if not target or not answer.model.has_class_scores or answer.receipt.prediction:
        return words
    if len(output_names(answer)) > 1:
        return f"{words} (classes of {clean(target)})"
    return f"{words if words.startswith('class ') else f'class {words}'} of {clean(target)}"
