"""Results as tables of texts, in the order in which people look: the strongest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Explanation
from onnxplain.v1.interactions_pb2 import InteractionsResult, InteractionStatistic
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceCurve, PartialDependenceResult

from onnxplain_server.arrays import Matrix, Vector
from onnxplain_server.plots.words import (
    clean,
    distinguish,
    scale_format,
    spell,
    spell_beside,
)
from onnxplain_server.report.finding import Finding, Heading
from onnxplain_server.report.vectors import of_vectors

_INTERACTIONS = (
    ("total", "All interactions", "H²: variability of the predictions that is interaction"),
    (
        "overall",
        "Interactions of one feature",
        "H²_j: variability that is interaction with the others",
    ),
    ("pairwise", "Pairs", "H²_jk: part of the joint effect that is interaction"),
    ("threeway", "Triples", "H²_jkl: part of the joint effect beyond that of the pairs"),
    ("importance", "Importance", "variability that all others together leave unexplained"),
)


def title(explanation: Explanation) -> str:
    """Name the method for people."""
    return (explanation.WhichOneof("result") or "explanation").replace("_", " ").capitalize()


def of_explanation(explanation: Explanation) -> list[Finding]:
    """Write the result of one method; tables without rows are left out."""
    match explanation.WhichOneof("result"):
        case "interactions":
            found = list(_interactions(explanation.interactions))
        case "partial_dependence":
            found = [_curves(explanation.partial_dependence)]
        case "feature_vectors":
            found = list(of_vectors(explanation.feature_vectors))
        case _:
            found = []
    return [finding for finding in found if finding.rows]


def _interactions(result: InteractionsResult) -> Iterator[Finding]:
    outputs = distinguish(result.output_names)
    for name, heading, note in _INTERACTIONS:
        value = getattr(result, name)
        statistics = [value] if name == "total" else list(value)
        yield _statistics(statistics, outputs, heading, note)


def _statistics(
    statistics: Sequence[InteractionStatistic], outputs: Sequence[str], heading: str, note: str
) -> Finding:
    ranked = sorted(statistics, key=lambda s: -sum(s.numerators))
    shares: Matrix = np.array([s.values for s in ranked])
    sizes: Matrix = np.sqrt(np.array([s.numerators for s in ranked]))
    rows = [
        (
            *_features(statistic.features),
            *_if_several(outputs, output),
            spell_beside(shares[place, column], shares),
            spell_beside(sizes[place, column], sizes[:, column]),
        )
        for place, statistic in enumerate(ranked)
        for column, output in enumerate(outputs)
    ]
    unit = f"unit of {outputs[0]}" if len(outputs) == 1 else "unit of the output"
    columns = (
        *([Heading("features")] if ranked and ranked[0].features else []),
        *([Heading("output")] if len(outputs) > 1 else []),
        Heading("share", is_number=True),
        Heading(f"size ({unit})", is_number=True),
    )
    return Finding(heading, f"share = {note}; size = √numerator", columns, tuple(rows))


def _features(names: Sequence[str]) -> tuple[str, ...]:
    return (" × ".join(clean(name) for name in names),) if names else ()


def _if_several(outputs: Sequence[str], output: str) -> tuple[str, ...]:
    return (output,) if len(outputs) > 1 else ()


def _curves(result: PartialDependenceResult) -> Finding:
    outputs = distinguish(result.output_names)
    grouped = any(curve.group for curve in result.curves)
    columns = (
        Heading("features"),
        *([Heading("group")] if grouped else []),
        *([Heading("output")] if len(outputs) > 1 else []),
        Heading("lowest", is_number=True),
        Heading("at"),
        Heading("highest", is_number=True),
        Heading("at"),
    )
    rows = [row for curve in result.curves for row in _curve(curve, outputs, grouped)]
    note = "lowest and highest average prediction along each curve, and where"
    return Finding("Average predictions", note, columns, tuple(rows))


def _curve(
    curve: PartialDependenceCurve, outputs: Sequence[str], grouped: bool
) -> Iterator[tuple[str, ...]]:
    values = np.array(curve.values).reshape(-1, len(outputs))
    for column, output in enumerate(outputs):
        # Both are the first NaN, where there is one.
        low, high = int(np.argmin(values[:, column])), int(np.argmax(values[:, column]))
        yield (
            *_features(curve.features),
            *([clean(curve.group) if curve.group else ""] if grouped else []),
            *_if_several(outputs, output),
            _number(values[low, column], values[:, column]),
            _point(curve, low),
            _number(values[high, column], values[:, column]),
            _point(curve, high),
        )


def _point(curve: PartialDependenceCurve, index: int) -> str:
    texts = []
    for column in curve.grid:
        if column.strings:
            texts.append(clean(column.strings[index]) if column.strings[index] else "missing")
        else:
            texts.append(_number(column.numbers[index], np.array(column.numbers), "missing"))
    return ", ".join(texts)


def _number(value: float, others: Vector, absent: str = "no number") -> str:
    return spell(value, scale_format(others)) if np.isfinite(value) else absent
