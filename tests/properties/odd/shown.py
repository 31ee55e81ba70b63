"""Labels of an answer in tables and plots: no two things of one name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import onnxplain
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain_server.report.registry import of_explanations

_MEASURED = {
    "value", "standard_error", "lower", "upper", "bias", "p_value", "numerator", "denominator",
    "numerator_error", "weight", "baseline_loss", "norm", "relative_norm", "angle_degrees",
    "nearest", "nearest_angle_degrees", "norm_standard_error", "angle_standard_error_degrees",
    "estimator", "difference", "importance", "score", "best_weight", "best_score", "optimum",
}  # fmt: skip
"""Columns of frames that are measured, and tell no rows apart."""


def faults_of_labels(answer: ExplainResponse) -> Iterator[str]:
    """Tell rows of tables, and labels of plots, that are called the same."""
    for result in onnxplain.Explanations(answer):
        frame = result.to_pandas()
        keys = [name for name in frame.columns if name not in _MEASURED]
        # Missing values are equal here.
        rows = Counter(map(str, frame[keys].astype(object).itertuples(index=False)))
        if again := [row for row, count in rows.items() if count > 1]:
            yield f"{type(result).__name__} has rows twice: {again[:2]}"
    for finding in (finding for found in of_explanations(answer.explanations) for finding in found):
        # Where an end of a curve lies is no name of it.
        measured = {"at"} if finding.title == "Average predictions" else set()
        columns = [
            k
            for k, heading in enumerate(finding.columns)
            if not heading.is_number and heading.title not in measured
        ]
        named = Counter(tuple(row[k] for k in columns) for row in finding.rows)
        if twice := [row for row, count in named.items() if count > 1]:
            yield f"the table {finding.title!r} has rows twice: {twice[:2]}"
    for explanation in answer.explanations:
        names = Counter(plot.name for plot in explanation.plots)
        if max(names.values(), default=1) > 1:
            yield f"plots of one name: {names}"
        for plot in explanation.plots:
            spec = json.loads(plot.vega_lite, parse_constant=_no_number)
            yield from {f"{plot.name}: {fault}" for fault in _faults_of_view(spec, {}, [])}


def _no_number(text: str) -> Any:
    raise AssertionError(f"{text} in a plot")


def _faults_of_view(
    view: Mapping[str, Any],
    encoding: Mapping[str, Any],
    rows: list[Any],
    *,
    is_filtered: bool = False,
) -> Iterator[str]:
    """Walk down a specification; encodings and data are handed down."""
    encoding = {**encoding, **view.get("encoding", {})}
    rows = view.get("data", {}).get("values", rows)
    for channel, own in encoding.items():
        yield from _faults_of_channel(channel, own)
    mark = view.get("mark")
    kind = mark.get("type") if isinstance(mark, dict) else mark
    is_filtered = is_filtered or "transform" in view
    if kind == "bar" and not is_filtered and "x2" not in encoding:
        yield from _bars_in_one_place(encoding, rows)
    for word in ("layer", "concat", "vconcat", "hconcat"):
        for part in view.get(word, ()):
            yield from _faults_of_view(part, encoding, rows, is_filtered=is_filtered)
    if "spec" in view:
        facet = view.get("facet", {})
        yield from _faults_of_channel("facet", facet)
        yield from _faults_of_view(view["spec"], encoding, rows, is_filtered=is_filtered)


def _faults_of_channel(channel: str, own: Any) -> Iterator[str]:
    if not isinstance(own, dict):
        return
    sort, scale = own.get("sort"), own.get("scale")
    domain = scale.get("domain") if isinstance(scale, dict) else None
    is_nominal = own.get("type") == "nominal"
    for labels in (sort, domain):
        if is_nominal and isinstance(labels, list) and len({*labels}) < len(labels):
            yield f"labels of {channel} twice: {labels}"
    if isinstance(domain, list) and not is_nominal and len(domain) == 2 and domain[0] >= domain[1]:
        yield f"the scale of {channel} is {domain}"
    ticks = own.get("axis", {}).get("values") if isinstance(own.get("axis"), dict) else None
    if isinstance(ticks, list) and (not ticks or len({*map(str, ticks)}) < len(ticks)):
        yield f"ticks of {channel}: {ticks}"


def _bars_in_one_place(encoding: Mapping[str, Any], rows: Iterable[Any]) -> Iterator[str]:
    """Tell bars that share their place: that of all nominal channels."""
    fields = [
        own["field"]
        for own in encoding.values()
        if isinstance(own, dict) and own.get("type") == "nominal" and "field" in own
    ]
    if not fields:
        return
    places = Counter(tuple(str(row.get(field)) for field in fields) for row in rows)
    if again := [place for place, count in places.items() if count > 1]:
        yield f"bars in one place: {again[:2]}"
