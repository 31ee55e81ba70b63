"""Feature vectors on the wire: embedding, angles, interchangeable pairs, knockoffs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxplain_server.wire.message_fields import Values, WireExceptions

if TYPE_CHECKING:
    from onnxplain_server.methods import feature_vectors


def _write_options(options: feature_vectors.Options) -> Values:
    """Leave out the options of growing a forest if the source was the model."""
    from onnxplain_server.methods.feature_vectors import Growth, PathSource

    unused = options.source is PathSource.MODEL
    return dict.fromkeys(Growth.__dataclass_fields__) if unused else {}


def _result(result: feature_vectors.Result) -> Values:
    embedding, norms, stability = result.embedding, result.norms, result.stability
    names = ("norm_standard_errors", "angle_standard_errors_degrees", "rank_correlation")
    return {
        "vectors": embedding.vectors,
        "relative_norms": norms / norms.max(),
        "angles_degrees": result.angles,
        "singular_values": embedding.singular_values,
        "explained_variance_ratio": embedding.variance_ratio,
        "explained_energy_ratio": embedding.energy_ratio,
        "singular_gap": embedding.gap,
        "nearest": [
            {"features": [result.features[j] for j in positions], "angles_degrees": degrees}
            for positions, degrees in result.nearest
        ],
        "interchangeable": [_pair(pair, result.features) for pair in result.interchangeable],
        "forest": result.fit,
        **{name: getattr(stability, name, None) for name in names},
        "adjusted_similarity": None if result.similarity is None else result.interchange.whole,
    }


def _pair(pair: Any, names: tuple[str, ...]) -> Values:
    statistics = ("adjusted_similarity", "lift", "lift_over_own", "repeat_share")
    return {
        "first": names[pair.first],
        "second": names[pair.second],
        **{name: getattr(pair, name) for name in statistics},
    }


def _knockoff_check(check: Any) -> Values:
    counts, borders = check.histogram()
    return {"permuted_borders_degrees": borders, "permuted_counts": counts}


EXCEPTIONS = WireExceptions(
    write={"FeatureVectorsOptions": _write_options},
    results={"FeatureVectorsResult": _result, "KnockoffCheck": _knockoff_check},
)
