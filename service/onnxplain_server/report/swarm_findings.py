"""Findings of swarm: tables of effects, importances, and similarities of classes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from onnxplain.v1.swarm_pb2 import SwarmEffect, SwarmOptions, SwarmResult

from onnxplain_server.core import contract_limits
from onnxplain_server.core.number_texts import between_zero_and_one, share_text, text_within
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.plots.elements.number_formats import spell_whole
from onnxplain_server.plots.swarm_words import MoveWords, words_of
from onnxplain_server.report.finding import Finding, Heading, truncate

_NONE = "–"


def of_swarm(result: SwarmResult, options: SwarmOptions) -> Iterator[Finding]:
    """Write effects, the most important first, importances over classes, and similarities."""
    yield _effects(result, options)
    yield _importances(result, options)
    if len(result.class_names) > 2:
        yield _similarities(result)


def _effects(result: SwarmResult, options: SwarmOptions) -> Finding:
    effects = sorted(result.effects, key=lambda effect: -effect.importance)
    by_row = bool(options.row_indices)
    measured = "score" if options.score else "average loss"
    columns = (
        *((Heading("row", is_number=True),) if by_row else ()),
        *((Heading("class"),) if result.class_names else ()),
        Heading("feature"),
        Heading(f"importance ({_unit(options)})", is_number=True),
        Heading(f"most harmful weight (0–{options.weight_limit:.4g})", is_number=True),
        Heading("rows moved out of the data", is_number=True),
        Heading(measured, is_number=True),
        Heading("holds from–to" if options.search == SwarmOptions.EXACT else "searches that agree"),
        Heading("then predicted"),
    )
    shown, left_out = truncate(effects, 1, "less important ones")
    rows = tuple(_row(result, effect, by_row=by_row) for effect in shown)
    note = (
        f"{measured} before: {score_text(result.baseline_score)}; most harmful weight: "
        f"{move_words(options).weight}, closest to no change; importance is in "
        f"{_range(options)}"
    )
    limit = (
        "a stress test of the model: where rows are moved out of the data, it says nothing of rows "
        "that occur; a weight that holds in a narrow range only is no robust finding"
    )
    return Finding("What moving features does", note, limit, columns, rows, left_out)


def _unit(options: SwarmOptions) -> str:
    measure = "score" if options.score else "loss"
    return f"{measure} × {options.weight_limit:.4g}"


def _range(options: SwarmOptions) -> str:
    return f"[0, {options.weight_limit:.4g}]" if options.score else "[0, ∞)"


def move_words(options: SwarmOptions) -> MoveWords:
    """Return the words on how values were moved."""
    known = contract_limits.SwarmOptions
    if not options.perturbation:
        return words_of(known.perturbation.default)
    return words_of(known.Perturbation(SwarmOptions.Perturbation.Name(options.perturbation)))


def _row(result: SwarmResult, effect: SwarmEffect, *, by_row: bool) -> tuple[str, ...]:
    return (
        *((str(effect.row_index),) if by_row else ()),
        *((clean(effect.class_name),) if result.class_names else ()),
        clean(effect.feature),
        score_text(effect.importance),
        best_weight_text(effect),
        share_text(effect.reach.outside_share),
        score_text(effect.best_score),
        _basis(effect),
        _taken_for(result, effect),
    )


def _basis(effect: SwarmEffect) -> str:
    """Return the agreement of searches, or the range in which an exact optimum holds."""
    if effect.HasField("agreement"):
        return share_text(effect.agreement)
    low, high = effect.optimum.low, effect.optimum.high
    return f"{text_within(low, low, high)}–{text_within(high, low, high)}"


def best_weight_text(effect: SwarmEffect) -> str:
    """Write the most harmful weight, such that the text has the same score."""
    weight, optimum = effect.best_weight, effect.optimum
    if not math.isfinite(weight):
        return _NONE
    is_range = effect.HasField("optimum")
    return text_within(weight, optimum.low, optimum.high) if is_range else text_within(weight)


def _taken_for(result: SwarmResult, effect: SwarmEffect) -> str:
    """Return the other class that most rows are predicted as at the most harmful weight."""
    count = len(result.class_names)
    if not count or not effect.importance:
        return _NONE
    weights = list(effect.curve.weights)
    place = max((i for i, w in enumerate(weights) if w <= effect.best_weight), default=0)
    shares = list(effect.curve.class_shares[place * count : (place + 1) * count])
    others = [
        (share, name)
        for share, name in zip(shares, result.class_names, strict=True)
        if name != effect.class_name
    ]
    share, name = max(others, default=(0.0, ""))
    return f"{clean(name)} ({share_text(share)})" if share > 0 else _NONE


def _importances(result: SwarmResult, options: SwarmOptions) -> Finding:
    entries = sorted(result.importances, key=lambda one: -one.value)
    shown, left_out = truncate(entries, 1, "less important ones")
    columns = (
        Heading("feature"),
        Heading(f"importance ({_unit(options)})", is_number=True),
        Heading("relative to each class's largest", is_number=True),
    )
    rows = tuple(
        (clean(e.feature), score_text(e.value), score_text(e.relative_value)) for e in shown
    )
    note = "sums over classes"
    limit = "sums hide that a feature may matter to one class only"
    return Finding("Importance over all classes", note, limit, columns, rows, left_out)


def _similarities(result: SwarmResult) -> Finding:
    names = [clean(name) for name in result.class_names]
    pairs = [
        (result.similarity[a * len(names) + b], names[a], names[b])
        for a in range(len(names))
        for b in range(len(names))
        if a != b
    ] if len(result.similarity) else []  # fmt: skip
    ranked: Sequence[tuple[float, str, str]] = sorted(
        (pair for pair in pairs if not math.isnan(pair[0])), reverse=True
    )
    shown, left_out = truncate(ranked, 1, "weaker ones")
    columns = (Heading("class"), Heading("taken for"), Heading("similarity", is_number=True))
    rows = tuple((source, target, score_text(value)) for value, source, target in shown)
    note = "share of the rows, over all weights and features, weights near 0 counting most"
    limit = "of all rows of a class moved at once, however far"
    return Finding("Classes taken for each other", note, limit, columns, rows, left_out)


def score_text(value: float) -> str:
    """Write a score, a loss or an importance to four digits, or to whole units."""
    if not math.isfinite(value):
        return _NONE
    if abs(value) >= 1e4:
        return spell_whole(value)
    return between_zero_and_one(value, f"{value:.4g}").replace("-", "−")
