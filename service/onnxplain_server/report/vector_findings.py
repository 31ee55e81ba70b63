"""Findings of feature vectors: tables of vectors, interchangeable pairs, basis and knockoffs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from onnxplain.v1.feature_vectors_pb2 import (
    FeatureVectorsOptions,
    FeatureVectorsResult,
    KnockoffCheck,
)

from onnxplain_server.core.number_texts import between_zero_and_one, share_text
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.report.finding import Finding, Heading, truncate

_NONE = "–"


def of_vectors(result: FeatureVectorsResult) -> Iterator[Finding]:
    """Write vectors, the longest first, interchangeable pairs, and diagnostics."""
    yield _vectors(result)
    yield _interchangeable(result)
    yield _basis(result)
    if result.HasField("knockoff_check"):
        yield _knockoffs(result.knockoff_check, [clean(name) for name in result.features])


def _vectors(result: FeatureVectorsResult) -> Finding:
    order = np.argsort(-np.array(result.norms), kind="stable").tolist()
    repeated = len(result.norm_standard_errors) > 0
    columns = (
        Heading("feature"),
        Heading("length (share of the longest)", is_number=True),
        *([Heading("± s.e.", is_number=True)] if repeated else []),
        Heading("angle (°)", is_number=True),
        *([Heading("± s.e. (°)", is_number=True)] if repeated else []),
        Heading("group", is_number=True),
        Heading("nearest"),
    )
    note = "length: importance; direction, and group: with which other features it is combined"
    limit = (
        "short vectors point anywhere, and independent features may share a direction: which ones "
        "could stand in for each other is told below"
    )
    shown, left_out = truncate(order, 1, "shorter ones")
    rows = tuple(_row(result, j, repeated=repeated) for j in shown)
    return Finding("Feature vectors", note, limit, columns, rows, left_out)


def _row(result: FeatureVectorsResult, j: int, *, repeated: bool) -> tuple[str, ...]:
    near = result.nearest[j]
    longest = max(result.norms)
    norm_error = [f"{result.norm_standard_errors[j] / longest:.3f}"] if repeated else []
    angle_error = [_degrees(result.angle_standard_errors_degrees[j])] if repeated else []
    nearest = zip(near.features, near.angles_degrees, strict=True)
    return (
        clean(result.features[j]),
        f"{result.relative_norms[j]:.3f}",
        *norm_error,
        _degrees(result.angles_degrees[j]),
        *angle_error,
        str(result.groups[j]) if result.groups[j] else _NONE,
        "; ".join(f"{clean(name)} ({_degrees(angle)}°)" for name, angle in nearest) or _NONE,
    )


def _interchangeable(result: FeatureVectorsResult) -> Finding:
    """Write pairs that could stand in for each other, by the rule of the contract."""
    repeated = len(result.norm_standard_errors) > 0
    columns = (
        Heading("feature"),
        Heading("could stand in for"),
        Heading("adjusted similarity", is_number=True),
        Heading("lift", is_number=True),
        Heading("lift over own", is_number=True),
        *([Heading("share of repetitions", is_number=True)] if repeated else []),
    )
    shown, left_out = truncate(result.interchangeable, 1, "less similar pairs")
    rows = tuple(
        (
            clean(pair.first),
            clean(pair.second),
            _to_hundredths(pair.adjusted_similarity),
            f"{pair.lift:.2f}",
            f"{pair.lift_over_own:.2f}",
            *([share_text(pair.repeat_share)] if repeated else []),
        )
        for pair in shown
    )
    note = (
        "pairs with the same neighbours on paths (adjusted similarity at least 0.6) that stand "
        "near each other as seldom as each near itself (lift at most 1.04, 1/1.7 to 1.7 of its own)"
    )
    limit = (
        "no pair is told for boosted trees, below a fidelity of 0.5 and for fewer than 4 features; "
        "one that is not listed may still be interchangeable"
    )
    return Finding(
        "Features that could stand in for each other", note, limit, columns, rows, left_out
    )


def _to_hundredths(value: float) -> str:
    return between_zero_and_one(value, f"{value:.2f}")


def _basis(result: FeatureVectorsResult) -> Finding:
    """Write the source of the vectors, and their diagnostics."""
    facts = [
        ("source", FeatureVectorsOptions.Source.Name(result.source)),
        ("paths", f"{result.sentence_count:,} of {result.tree_count:,} trees"),
        ("explained variance", share_text(result.explained_variance_ratio, 1)),
        ("explained energy", share_text(result.explained_energy_ratio, 1)),
    ]
    if np.isfinite(result.singular_gap):
        facts.append(("last singular value over the next", f"{result.singular_gap:.2f}"))
    if result.HasField("forest"):
        fidelity = f"{result.forest.fidelity:.3f} at depth {result.forest.depth}"
        facts.append(("fidelity of the forest grown", fidelity))
    if result.norm_standard_errors:
        facts.append(("rank correlation of lengths", f"{result.rank_correlation:.3f}"))
    note = "explained variance: share of the counts that the vectors hold"
    limit = "where the last singular value is near the next, angles hang on little"
    columns = (Heading("what"), Heading("value", is_number=True))
    return Finding("What vectors rest on", note, limit, columns, tuple(facts))


def _knockoffs(check: KnockoffCheck, names: list[str]) -> Finding:
    longest = max([*check.norms, *check.knockoff_norms])
    order = np.argsort(-np.array(check.norms), kind="stable").tolist()
    shown, left_out = truncate(order, 1, "shorter ones")
    rows = tuple(
        (
            names[j],
            f"{check.norms[j] / longest:.3f}",
            f"{check.knockoff_norms[j] / longest:.3f}",
        )
        for j in shown
    )
    note = (
        f"features and knockoffs are {_degrees(check.mean_angle_degrees)}° apart, "
        f"p = {check.p_value:.2g}"
    )
    columns = (
        Heading("feature"),
        Heading("length", is_number=True),
        Heading("of its knockoff", is_number=True),
    )
    limit = "knockoffs are as good as the mixture of Gaussians that the columns are taken for"
    return Finding("Features and their knockoffs", note, limit, columns, rows, left_out)


def _degrees(angle: float) -> str:
    return f"{angle:.1f}".replace("-", "−") if math.isfinite(angle) else _NONE
