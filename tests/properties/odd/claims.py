"""Sentences of an answer beside its own numbers: what "most", "no", "same" and "highest" claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from odd.expected import Array, constant_features
from odd.questions import Question
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.report import summary
from onnxplain_server.report.output_names import with_output_names

_BROKEN = re.compile(r"\b(nan|NaN|inf|None)\b")
_NO_NUMBER = re.compile(rf"{_BROKEN.pattern}|\b(no number|infinite)\b")
_NOTHING = re.compile(r"Every (pair|feature|triple|entry) is at 0|none is above 0")
_ENDS = re.compile(
    r"(?:lowest|(?:rises|falls)(?: on the whole,)? from) (\S+) at (.*?)(?:; highest| to) (\S+) at "
    r"(.*?)(?:, where|; 0 is|\.(?: |$))"
)
_BLIND = {"GAUSSIAN_OFF", "TAYLOR_BLIND", "SLOPE_BLIND", "SLOPE_CANCELS"}
_FLAT = 1e-6
"""Share of the largest number within which numbers are called the same."""


def faults_of_claims(question: Question, answer: ExplainResponse) -> Iterator[str]:
    """Tell the sentences that the numbers of an answer contradict."""
    named = with_output_names(answer)
    sentences = summary.of_answer(named)
    for sentence in sentences:
        if _NO_NUMBER.search(_without_names(sentence, question)):
            yield f"no number in: {sentence}"
    for explanation in named.explanations:
        method = explanation.WhichOneof("result") or ""
        check = _CHECKS.get(method)
        if check:
            yield from check(explanation, sentences)
        for plot in explanation.plots:
            yield from _remarks(explanation, plot, question)
    yield from _faults_of_warnings(question, answer)


def _without_names(text: str, question: Question) -> str:
    text = re.sub(r"[\[(][^\[\](),]*,[^\[\](),]*[\])]", "interval", text)
    if any(np.isinf(c.truth).any() for c in question.columns.values() if c.truth.dtype != object):
        text = re.sub(r"\binf\b", "number", text)  # a group
    for name in sorted(question.columns, key=len, reverse=True):
        text = text.replace(clean(name), "a")
    for column in question.columns.values():
        for cell in set(column.cells) if column.is_text or column.kind == "date" else ():
            text = text.replace(str(cell), "text")
    return text


def _find(sentences: Sequence[str], pattern: str) -> list[re.Match[str]]:
    return [found for s in sentences if (found := re.search(pattern, s))]


def _number(text: str) -> float:
    """Read a number as plots write it."""
    return float(text.replace("−", "-").replace(",", "").rstrip("."))


def _is_written(text: str, value: float) -> bool:
    """Tell whether a text may stand for a number: three digits, or to whole units."""
    if text == "almost 0":
        return True
    own = _number(text)
    return bool(np.isclose(own, value, rtol=6e-3, atol=0.0)) or abs(own - value) <= 0.51 * (
        10.0 ** -len(text.partition(".")[2]) if "e" not in text else 0.0
    )


def _joined(features: Sequence[str], sign: str = " × ") -> str:
    own = [f"“{clean(name)}”" if sign.strip() in name else clean(name) for name in features]
    return sign.join(own)


def _most(
    sentences: Sequence[str], pattern: str, names: Sequence[str], sizes: Array
) -> Iterator[str]:
    """Check a sentence that names the largest of some sizes: (n_names, n_outputs)."""
    for found in _find(sentences, pattern):
        name, text = found[1], found[2]
        own = [sizes[k] for k, other in enumerate(names) if other == name]
        if len(own) != 1:
            yield f"{len(own)} are called {name!r} in: {found.string}"
        elif not any(_is_written(text, value) for value in own[0]):
            yield f"{own[0]} in: {found.string}"
        elif not any(own[0][k] >= np.nanmax(sizes[:, k]) for k in range(sizes.shape[1])):
            yield f"{sizes.tolist()} in: {found.string}"


def _interactions(explanation: Explanation, sentences: Sequence[str]) -> Iterator[str]:
    result = explanation.interactions
    for pattern, statistics in (
        (
            r"^(.*) moves predictions most, .*: by a standard deviation of (\S+)",
            result.importance,
        ),
        (
            r"^(.*) is the strongest interaction .*: it has a standard deviation of (\S+)",
            result.pairwise,
        ),
    ):
        if len(statistics):
            sizes = np.sqrt(np.array([one.numerators for one in statistics]))
            yield from _most(sentences, pattern, [_joined(s.features) for s in statistics], sizes)
    numerators = np.array([one.numerators for one in result.pairwise])
    squares = np.array(result.mean_squares)
    for found in _find(sentences, r"^(No pair of features|None of .*,) interacts\."):
        if not (numerators == 0).all() or not np.isfinite(squares).all():
            yield f"{numerators.tolist()} of {squares.tolist()} in: {found.string}"


def _curve_values(explanation: Explanation) -> list[Array]:
    result = explanation.partial_dependence
    return [np.array(c.values).reshape(-1, len(result.output_names)) for c in result.curves]


def _partial_dependence(explanation: Explanation, sentences: Sequence[str]) -> Iterator[str]:
    values = _curve_values(explanation)
    curves = explanation.partial_dependence.curves
    for found in _find(sentences, r"^No feature asked about moves the average"):
        if not all(
            np.isfinite(v).all() and (np.ptp(v, axis=0) <= _FLAT * abs(v).max()).all()
            for v in values
        ):
            yield f"{[v.tolist() for v in values]} in: {found.string}"
    pattern = (
        r"^Along (.*?)(, whose curve has the widest range,)? the average prediction.* "
        r"(?:is lowest,|(rises|falls)(?: on the whole,)? from) (\S+) at (.*)"
        r"(?:, and highest,| to) (\S+) at (.*)\.$"
    )
    for found in _find(sentences, pattern):
        own = [v for v, c in zip(values, curves, strict=True) if _joined(c.features) == found[1]]
        ends = [(v[:, k].min(), v[:, k].max()) for v in own for k in range(v.shape[1])]
        first, last = (found[6], found[4]) if found[3] == "falls" else (found[4], found[6])
        if not any(
            abs(_number(first) - low) <= 6e-3 * (abs(low) + abs(high - low))
            and abs(_number(last) - high) <= 6e-3 * (abs(high) + abs(high - low))
            for low, high in ends
        ):
            yield f"{ends} in: {found.string}"
        if found[5] == found[7] or found[4] == found[6]:
            yield f"two ends that look alike: {found.string}"
        widest = max((np.ptp(v, axis=0).max() for v in values), default=0.0)
        if found[2] and widest > 1.01 * max((high - low for low, high in ends), default=0.0):
            yield f"a range of {widest} beside: {found.string}"


def _single_rows(explanation: Explanation, sentences: Sequence[str]) -> Iterator[str]:
    result = explanation.individual_conditional_expectation
    count = len(result.output_names)
    pattern = (
        r"^As (.*) moves and the rest .* changes by (\S+|almost 0) "
        r"\(median over (\S+) rows\), at most by (\S+|almost 0)\.$"
    )
    for found in _find(sentences, pattern):
        own = [c for c in result.curves if _joined(c.features or [c.feature]) == found[1]]
        changes = [
            np.ptp(np.array(c.values).reshape(len(c.row_indices), -1, count), axis=1) for c in own
        ]
        if not any(
            _is_written(found[2], np.median(change[:, k]))
            and _is_written(found[4], change[:, k].max())
            for change in changes
            for k in range(count)
        ):
            yield f"{[np.median(c, axis=0) for c in changes]} in: {found.string}"


def _permutation(explanation: Explanation, sentences: Sequence[str]) -> Iterator[str]:
    result = explanation.permutation_importance
    values = np.array([one.values for one in result.importances])
    names = [_joined(one.features, " + ") for one in result.importances]
    for found in _find(sentences, r"^Shuffling no feature makes the \S+ worse\.$"):
        if not (np.isfinite(values) & (values <= 0)).all():
            yield f"{values.tolist()} in: {found.string}"
    pattern = (
        r"^Shuffling (.*?)(?:, in one shuffle,)? worsens predictions most: .* by (\S+?)"
        r"(?: times its value before)?(?:, .*)?, from (\S+) before"
    )
    yield from _most([s for s in sentences if "cannot tell apart" not in s], pattern, names, values)


def _average_loss(explanation: Explanation, sentences: Sequence[str]) -> Iterator[str]:
    values = np.array([one.values for one in explanation.average_loss.losses])
    for found in _find(sentences, r" goes from (\S+) for (.*) to (\S+) for (.*)\.$"):
        if found[1] == found[3] or found[2] == found[4]:
            yield f"two ends that look alike: {found.string}"
        if not any(_is_written(found[3], v) for v in values.max(axis=0)):
            yield f"{values.tolist()} in: {found.string}"
    for found in _find(sentences, r" is (\S+) for each group\.$"):
        if np.ptp(values, axis=0).min() > 0.02 * np.abs(values).max():
            yield f"{values.tolist()} in: {found.string}"


def _firm(explanation: Explanation, sentences: Sequence[str]) -> Iterator[str]:
    result = explanation.firm
    if not result.importances:
        return
    values = np.abs(np.array([one.values for one in result.importances]))
    names = [clean(one.feature) for one in result.importances]
    pattern = r"moves most along (.*): its standard deviation is (\S+)\.$"
    alone = [s for s in sentences if "cannot be told apart" not in s]
    yield from _most(alone, pattern, names, values)


def _vectors(explanation: Explanation, sentences: Sequence[str]) -> Iterator[str]:
    result = explanation.feature_vectors
    for found in _find(sentences, r"^(.*) has the longest feature vector\.$"):
        norms = dict(zip(map(clean, result.features), result.norms, strict=True))
        if norms.get(found[1]) != max(result.norms):
            yield f"{norms} in: {found.string}"


def _swarm(explanation: Explanation, sentences: Sequence[str]) -> Iterator[str]:
    harms = np.array([effect.importance for effect in explanation.swarm.effects])
    for found in _find(sentences, r"^No move of a feature makes predictions worse"):
        if not (np.isfinite(harms) & (harms <= 0)).all():
            yield f"{harms.tolist()} in: {found.string}"


_CHECKS: dict[str, Callable[[Explanation, Sequence[str]], Iterator[str]]] = {
    "interactions": _interactions,
    "partial_dependence": _partial_dependence,
    "individual_conditional_expectation": _single_rows,
    "permutation_importance": _permutation,
    "average_loss": _average_loss,
    "feature_vectors": _vectors,
    "firm": _firm,
    "swarm": _swarm,
}


def _numbers(explanation: Explanation, plot: str) -> Array:
    """Return the numbers that a plot of a method draws."""
    method = explanation.WhichOneof("result") or ""
    result = getattr(explanation, method)
    fields = {
        "interactions": lambda: [one.numerators for one in getattr(result, plot, result.pairwise)],
        "partial_dependence": lambda: [curve.values for curve in result.curves],
        "individual_conditional_expectation": lambda: [curve.values for curve in result.curves],
        "permutation_importance": lambda: [one.values for one in result.importances],
        "average_loss": lambda: [one.values for one in result.losses],
        "firm": lambda: [one.values for one in result.importances],
        "swarm": lambda: [[effect.importance for effect in result.effects]],
    }
    parts: list[Any] = fields[method]() if method in fields else []
    return np.concatenate([np.array(part) for part in parts] or [np.zeros(0)])


def _remarks(explanation: Explanation, plot: Any, question: Question) -> Iterator[str]:
    """Check the sentences of a plot, but for its title."""
    texts = plot.description.removeprefix(plot.title)
    if _BROKEN.search(_without_names(texts, question)):
        yield f"no number in the plot {plot.name}: {texts}"
    numbers = _numbers(explanation, plot.name)
    if _NOTHING.search(texts) and not np.isfinite(numbers).all():
        yield f"{numbers.tolist()} in the plot {plot.name}: {texts}"
    ends = _ENDS.search(texts)
    if ends and ends[2] == ends[4]:
        yield f"two ends that look alike in the plot {plot.name}: {texts}"
    finite = numbers[np.isfinite(numbers)]
    is_flat = bool(finite.size) and np.ptp(finite) <= _FLAT * np.abs(finite).max()
    if is_flat and plot.name == "shared-curves" and "widest" in texts:
        yield f"{finite.tolist()} in the plot {plot.name}: {texts}"


def _faults_of_warnings(question: Question, answer: ExplainResponse) -> Iterator[str]:
    """Tell numbers of constant features that are not 0, and warnings about them."""
    rows = np.arange(question.row_count)
    if "weight" in question.columns:
        rows = np.flatnonzero(question.columns["weight"].truth > 0)
    constant = constant_features(question, rows)
    warnings: list[Any] = list(answer.warnings)
    for warning in warnings:
        if warning.code in _BLIND:
            named = {name for name in constant if f"'{name}'" in warning.message}
            if named:
                yield f"{warning.code} about constant {named}: {warning.message}"
    for explanation in answer.explanations:
        method = explanation.WhichOneof("result")
        if method in {"firm", "permutation_importance"}:
            importances = getattr(explanation, method).importances
            for one in importances:
                own = {one.feature} if method == "firm" else {*one.features}
                if own <= constant and any(v != 0 for v in one.values):
                    yield f"{method} of constant {own}: {list(one.values)}"
