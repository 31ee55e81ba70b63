"""Feature vectors: options from and to messages, results to messages."""

from __future__ import annotations

from typing import Any

from onnxplain.v1 import feature_vectors_pb2 as pb

from onnxplain_server.methods.feature_vectors import (
    CountingUnit,
    Growth,
    Knockoffs,
    Options,
    PathSource,
    Reading,
    Result,
    Rule,
)
from onnxplain_server.methods.feature_vectors.interchange import Pair
from onnxplain_server.methods.feature_vectors.knockoff_test import KnockoffCheck
from onnxplain_server.wire.message_fields import enum, given

_RULE = ("window", "min_split_count")
_GROWTH = ("sentence_count", "depth", "one_hot_target")
_READING = ("importance_floor", "group_angle_degrees", "neighbor_count")


def read_options(message: pb.FeatureVectorsOptions, path: str) -> Options:
    """Read options, absent ones as their defaults; `path` names them in errors."""
    source = enum(message, "source", f"{path}.source")
    counting = enum(message, "counting", f"{path}.counting") or "PER_WINDOW"
    wanted = message.knockoffs
    return Options(
        source=PathSource(source) if source else None,
        features=tuple(message.features),
        rule=Rule(
            counting=CountingUnit(counting),
            fill_diagonal=message.fill_diagonal,
            **given(message, *_RULE),
        ),
        growth=Growth(**given(message, *_GROWTH)),
        reading=Reading(**given(message, *_READING)),
        row_indices=tuple(message.row_indices),
        knockoffs=Knockoffs(**given(wanted, "permutation_count", "component_count"))
        if message.HasField("knockoffs")
        else None,
        include_cooccurrence=message.include_cooccurrence,
        include_similarity=message.include_similarity,
        **given(message, "dimension_count", "repeat_count"),
    )


def write_options(options: Options) -> pb.FeatureVectorsOptions:
    """Write options after defaults."""
    rule, growth, reading = options.rule, options.growth, options.reading
    message = pb.FeatureVectorsOptions(
        source=options.source.value if options.source else None,
        features=options.features,
        counting=rule.counting.value,
        fill_diagonal=rule.fill_diagonal,
        row_indices=options.row_indices,
        dimension_count=options.dimension_count,
        repeat_count=options.repeat_count,
        include_cooccurrence=options.include_cooccurrence,
        include_similarity=options.include_similarity,
    )
    grown = () if options.source is PathSource.MODEL else ((growth, _GROWTH),)
    for part, names in ((rule, _RULE), (reading, _READING), *grown):
        _set(message, part, names)
    if options.knockoffs is not None:
        _set(message.knockoffs, options.knockoffs, ("permutation_count", "component_count"))
    return message


def _set(message: Any, part: object, names: tuple[str, ...]) -> None:
    for name in names:
        if (value := getattr(part, name)) is not None:
            setattr(message, name, value)


def write_result(result: Result) -> pb.FeatureVectorsResult:
    """Write a result."""
    embedding, norms = result.embedding, result.norms
    message = pb.FeatureVectorsResult(
        features=result.features,
        source=result.source.value,
        vectors=embedding.vectors.ravel(),
        norms=norms,
        relative_norms=norms / norms.max(),
        angles_degrees=result.angles,
        singular_values=embedding.singular_values,
        explained_variance_ratio=embedding.variance_ratio,
        explained_energy_ratio=embedding.energy_ratio,
        singular_gap=embedding.gap,
        sentence_count=result.sentence_count,
        tree_count=result.tree_count,
        groups=result.groups,
        nearest=[
            pb.NearestFeatures(
                features=[result.features[j] for j in positions], angles_degrees=degrees
            )
            for positions, degrees in result.nearest
        ],
        interchangeable=[_pair(pair, result.features) for pair in result.interchangeable],
    )
    _write_optional(message, result)
    return message


def _write_optional(message: pb.FeatureVectorsResult, result: Result) -> None:
    """Write what only some results have."""
    if result.fit is not None:
        message.forest.depth, message.forest.fidelity = result.fit.depth, result.fit.fidelity
    if result.stability is not None:
        message.norm_standard_errors.extend(result.stability.norm_standard_errors)
        message.angle_standard_errors_degrees.extend(result.stability.angle_standard_errors_degrees)
        message.rank_correlation = result.stability.rank_correlation
    if result.knockoff_check is not None:
        message.knockoff_check.CopyFrom(_check(result.knockoff_check))
    if result.cooccurrence is not None:
        message.cooccurrence.extend(result.cooccurrence.ravel())
    if result.similarity is not None:
        message.similarity.extend(result.similarity.ravel())
        message.adjusted_similarity.extend(result.interchange.whole.ravel())


def _pair(pair: Pair, names: tuple[str, ...]) -> pb.InterchangeablePair:
    return pb.InterchangeablePair(
        first=names[pair.first],
        second=names[pair.second],
        adjusted_similarity=pair.adjusted_similarity,
        lift=pair.lift,
        lift_over_own=pair.lift_over_own,
        repeat_share=pair.repeat_share,
    )


def _check(check: KnockoffCheck) -> pb.KnockoffCheck:
    counts, borders = check.histogram()
    return pb.KnockoffCheck(
        vectors=check.vectors.ravel(),
        knockoff_vectors=check.knockoff_vectors.ravel(),
        norms=check.norms,
        knockoff_norms=check.knockoff_norms,
        mean_angle_degrees=check.mean_angle_degrees,
        p_value=check.p_value,
        permuted_borders_degrees=borders,
        permuted_counts=counts,
    )
