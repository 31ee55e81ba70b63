"""Pairing of two answers: whether their replicates belong together, and which explanations do."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1.model_pb2 import ModelDescription

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import listed

_FREE = frozenset({
    *("features", "joint_features", "grids", "grid_size", "bin_count", "strategy", "trim_lower"),
    *("trim_upper", "include_missing", "max_outside_share", "repeat_count", "confidence_level"),
    *("resampling", "pairwise_feature_count", "threeway_feature_count", "permutation_count"),
    *("explained_row_count", "target_standard_error", "group_count"),
})  # fmt: skip
"""Options that choose what is computed, or how precisely, and not what a number means."""


_INDEPENDENT = "both sides are taken as independent samples"


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
    _check_meaning(before, after)
    if not before.table_digest or not after.table_digest:
        what = "The table of one side is not known"
        return Pairing(is_paired=False, reason=f"{what}, so {_INDEPENDENT}.")
    if before.table_digest != after.table_digest:
        what = "The files of the tables differ"
        return Pairing(is_paired=False, reason=f"{what}, so {_INDEPENDENT}.")
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
    _check_drawn(reference, answer)
    noun = "clusters" if after.cluster_column else "rows"
    reason = f"Both sides have the same table and seed, so replicates draw the same {noun}."
    return Pairing(is_paired=True, reason=reason)


def _check_drawn(
    reference: service_pb2.ExplainResponse, answer: service_pb2.ExplainResponse
) -> None:
    """Refuse answers on other numbers of rows of one table."""
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


def _check_meaning(before: service_pb2.Receipt, after: service_pb2.Receipt) -> None:
    """Refuse answers whose requests differ in what their numbers mean, as far as receipts tell."""
    sides = {name: (read(before), read(after)) for name, read in _MEANING.items()}
    if not (before.HasField("request") and after.HasField("request")):
        sides = {name: sides[name] for name in ("scale", "prediction")}
    for name, (one, other) in sides.items():
        if one != other:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"the reference has {name} {one or 'none'}, the other answer {other or 'none'}, so "
                "their numbers mean different things; make both with the same",
                name,
            )


def targets_of(request: service_pb2.ExplainRequest) -> str:
    """Return the columns with the true values, listed; empty without any."""
    return ", ".join(filter(None, [request.target_column, *request.target_columns]))


_MEANING: dict[str, Callable[[service_pb2.Receipt], str]] = {
    "scale": lambda receipt: ModelDescription.Scale.Name(receipt.scale),
    "prediction": lambda receipt: "; ".join(receipt.prediction),
    "target_column": lambda receipt: targets_of(receipt.request),
    "weight_column": lambda receipt: receipt.request.weight_column,
    "class_labels": lambda receipt: ", ".join(receipt.request.class_labels),
}
"""Fields of requests that decide what numbers mean, as texts."""


class PairedExplanations(NamedTuple):
    """Explanations that are compared, by their indices, and those that only one side has."""

    pairs: list[tuple[int, int]]
    alone: list[str]


def pair_explanations(
    reference: service_pb2.ExplainResponse, answer: service_pb2.ExplainResponse
) -> PairedExplanations:
    """Pair explanations of one method that have replicates: those with most statistics in common.

    Raises
    ------
    ExplainError
        INVALID_OPTION where options differ in what numbers mean.
    """
    left, right = (
        {i: each for i, each in enumerate(side.explanations) if each.HasField("replicates")}
        for side in (reference, answer)
    )
    pairs, alone = [], []
    for i, explanation in right.items():
        subjects = _subjects(explanation)
        common = {
            other: len(subjects & _subjects(each))
            for other, each in left.items()
            if _method(each) == _method(explanation)
        }
        if not common:
            alone.append(f"{_method(explanation)}: the reference has no such explanation")
            continue
        own = max(common, key=lambda other: common[other])
        _check_options(left.pop(own), explanation)
        pairs.append((own, i))
    alone += [f"{_method(each)}: only the reference has this explanation" for each in left.values()]
    return PairedExplanations(pairs, alone)


def _subjects(explanation: service_pb2.Explanation) -> set[tuple[int, tuple[str, ...], str]]:
    """Return what the statistics of an explanation are about."""
    statistics = explanation.replicates.statistics
    return {(each.kind, tuple(each.features), each.group) for each in statistics}


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
