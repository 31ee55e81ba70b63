"""Writer of method results; exceptions for attributes unlike the message's fields are below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1 import firm_pb2

from onnxplain_server.core.arrays import Array
from onnxplain_server.methods.registry import SEQUENCES, Result, method_of
from onnxplain_server.plots.elements.labels import quoted
from onnxplain_server.wire import message_fields
from onnxplain_server.wire.message_fields import Values, WriteExceptions
from onnxplain_server.wire.table import to_columns

if TYPE_CHECKING:
    from onnxplain_server.methods import feature_vectors, interactions, swarm
    from onnxplain_server.methods import individual_conditional_expectation as ice
    from onnxplain_server.methods.firm.result import ConditionalExpectation
    from onnxplain_server.methods.sequences.result import MismatchClass


def fill(message: service_pb2.Explanation, result: Result) -> None:
    """Write a result into the field of its method."""
    field = getattr(message, method_of(result).name)
    field.CopyFrom(message_fields.write(type(field), result, _EXCEPTIONS))


def _interactions(result: interactions.Result) -> Values:
    resampling = result.resampling
    return {"confidence_level": resampling.confidence_level if resampling.repeat_count else None}


def _interval(spread: object, *names: str) -> Values:
    """Flatten standard errors and intervals; None without resampling."""
    names = ("standard_errors", "lower", "upper", *names)
    return {name: getattr(spread, name, None) for name in names}


def _individual(result: ice.Result) -> Values:
    labels = [*zip(*result.groups, strict=True)]
    return {
        "curves": [
            {
                "feature": curves.features[0] if len(curves.features) == 1 else "",
                "features": curves.features,
                "grid": to_columns(curves.features, curves.grid),
                "row_indices": result.row_indices,
                "groups": [*map(_joined, labels)] or [""] * len(result.row_indices),
                "group_labels": [label for own in labels for label in own],
                "values": curves.values,
            }
            for curves in result.curves
        ]
    }


def _joined(labels: tuple[str, ...]) -> str:
    """Join the groups of a row by several columns; no two rows of other groups are alike."""
    sign = " / "
    return sign.join(quoted(label, sign) if len(labels) > 1 else label for label in labels)


def _firm(result: Any) -> Values:
    """Write the result of FIRM on rows, or of FIRM of sequences."""
    moments = {"mean_scores": result.means, "score_standard_deviations": result.deviations}
    if method_of(result) is not SEQUENCES:
        return {**moments, "contrasts": result.contrasts, "sequences": None}
    rows_only = dict.fromkeys(firm_pb2.FirmResult.DESCRIPTOR.fields_by_name)
    return {**rows_only, **moments, "output_names": result.output_names, "sequences": result}


def _curve(curve: ConditionalExpectation) -> Values:
    is_text = curve.levels.dtype == object
    return {
        "expected_scores": curve.expected,
        "texts": curve.levels if is_text else None,
        "numbers": None if is_text else curve.levels,
    }


def _mismatches(mismatches: MismatchClass) -> Values:
    return {
        "difference_standard_deviations": mismatches.difference_deviations,
        "importance_standard_deviations": mismatches.importance_deviations,
        "weight_standard_deviations": mismatches.weight_deviations,
    }


def _swarm(result: swarm.Result) -> Values:
    return {
        "importances": [
            {"feature": name, "value": value, "relative_value": relative}
            for name, value, relative in zip(
                result.features, result.importances, result.relative_importances, strict=True
            )
        ],
        "window_borders": result.borders,
        "effects": [_effect(effect, result.resolution.point_count) for effect in result.effects],
    }


def _effect(effect: swarm.Effect, point_count: int) -> Values:
    optimum = effect.search_result
    curve = optimum.curve.joined(point_count)
    names = ("class_name", "feature", "row_index", "row_count", "importance", "values", "reach")
    return {
        **{name: getattr(effect, name) for name in names},
        "best_weight": optimum.best_weight,
        "best_score": optimum.best_score,
        "mean_weight_distance": optimum.distance,
        "mean_score_drop": optimum.drop,
        "optimum": optimum.optimum,
        "stable_optimum": optimum.stable_optimum,
        "agreement": optimum.agreement,
        "curve": {
            "weights": curve.lows,
            "scores": curve.scores,
            "class_shares": curve.shares,
            "is_joined": len(curve) < len(optimum.curve),
        },
        "windows": {"scores": effect.window_scores, "class_shares": effect.window_shares},
        "class_similarities": effect.similarities,
        "particle_weights": optimum.particle_weights,
    }


def _feature_vectors(result: feature_vectors.Result) -> Values:
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


def _background(background: Any) -> Values:
    """Write the Markov chain; the options tell how it was fitted."""
    options: dict[str, Array | None] = dict.fromkeys(("order", "pseudo_count"))
    return {**options, "initial": background.initial, "transitions": background.transitions}


_EXCEPTIONS: WriteExceptions = {
    "InteractionsResult": _interactions,
    "InteractionStatistic": lambda statistic: _interval(statistic.spread, "biases"),
    "PartialDependenceCurve": lambda curve: {"grid": to_columns(curve.features, curve.grid)},
    "IndividualConditionalExpectationResult": _individual,
    "FirmResult": _firm,
    "FirmImportance": lambda importance: _interval(importance.spread),
    "FirmCurve": _curve,
    "FirmBackground": _background,
    "FirmTopKmer": lambda top: {"output_index": top.output},
    "FirmMotif": lambda motif: {"mismatches": motif.mismatch_classes},
    "FirmMismatches": _mismatches,
    "SwarmResult": _swarm,
    "FeatureVectorsResult": _feature_vectors,
    "KnockoffCheck": _knockoff_check,
}
