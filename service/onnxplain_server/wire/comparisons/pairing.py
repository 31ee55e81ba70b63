"""Pairing of two answers: whether their replicates belong together, and which explanations do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import listed

_FREE = frozenset({
    *("features", "joint_features", "grids", "grid_size", "bin_count", "strategy", "trim_lower"),
    *("trim_upper", "include_missing", "max_outside_share", "repeat_count", "confidence_level"),
    *("resampling", "pairwise_feature_count", "threeway_feature_count", "permutation_count"),
    *("explained_row_count", "target_standard_error", "group_count"),
})  # fmt: skip
"""Options that choose what is computed, or how precisely, and not what a number means."""


class Pairing(NamedTuple):
    """Answer whether replicates belong together row by row, and why, as a sentence."""

    is_paired: bool
    reason: str


def pair_answers(
    reference: service_pb2.ExplainResponse, answer: service_pb2.ExplainResponse
) -> Pairing:
    """Tell whether both answers have the same rows, resampled in the same way.

    Raises
    ------
    ExplainError
        INVALID_OPTION for answers on one table whose chance is neither shared nor independent.
    """
    before, after = reference.receipt, answer.receipt
    if not before.table_digest or before.table_digest != after.table_digest:
        reason = "The tables differ, so both sides are taken as independent samples."
        return Pairing(is_paired=False, reason=reason)
    for field in ("seed", "cluster_column"):
        values = getattr(before, field), getattr(after, field)
        if values[0] != values[1]:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"both answers are on one table, the reference with {field} {values[0]!r}, the "
                f"other with {values[1]!r}: their chance is neither shared nor independent. Make "
                f"both with one {field}",
                field,
            )
    drawn = [
        {each.rows.drawn_row_count for each in side.explanations if each.HasField("replicates")}
        for side in (reference, answer)
    ]
    if drawn[0] != drawn[1]:
        counts = [listed(tuple(f"{count:,}" for count in sorted(own))) for own in drawn]
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"both answers are on one table, the reference on {counts[0]} rows drawn from it, the "
            f"other on {counts[1]}; make both with one row_count",
            "row_count",
        )
    noun = "clusters" if after.cluster_column else "rows"
    reason = f"Both sides have the same table and seed, so replicates draw the same {noun}."
    return Pairing(is_paired=True, reason=reason)


def pair_explanations(
    reference: service_pb2.ExplainResponse, answer: service_pb2.ExplainResponse
) -> Iterator[tuple[int, int]]:
    """Yield the indices of explanations of one method, those with replicates, in their order.

    Raises
    ------
    ExplainError
        INVALID_OPTION where options differ in what numbers mean.
    """
    left: dict[str, list[int]] = {}
    for i, explanation in enumerate(reference.explanations):
        if explanation.HasField("replicates"):
            left.setdefault(_method(explanation), []).append(i)
    for i, explanation in enumerate(answer.explanations):
        others = left.get(_method(explanation), [])
        if explanation.HasField("replicates") and others:
            own = others.pop(0)
            _check_options(reference.explanations[own], explanation)
            yield own, i


def _method(explanation: service_pb2.Explanation) -> str:
    return str(explanation.WhichOneof("result"))


def _check_options(reference: service_pb2.Explanation, answer: service_pb2.Explanation) -> None:
    method = _method(answer)
    before, after = (getattr(side.options, method) for side in (reference, answer))
    names = [
        field.name
        for field in before.DESCRIPTOR.fields
        if field.name not in _FREE and getattr(before, field.name) != getattr(after, field.name)
    ]
    if names:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{method} of both answers differ in {listed(tuple(names))}, so their numbers mean "
            "different things; make both with the same options",
            "reference",
        )
