"""Swarm on the wire: effects with curves of the score, and what a search used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxplain_server.wire.message_fields import Values, WireExceptions
from onnxplain_server.wire.methods.losses import read_loss

if TYPE_CHECKING:
    from onnxplain_server.methods import swarm


def _write_options(options: swarm.Options) -> Values:
    """Leave out the options of particles if the search was exact."""
    from onnxplain_server.methods.swarm import Search, SearchSettings

    unused = options.search is Search.EXACT
    return dict.fromkeys(SearchSettings.__dataclass_fields__) if unused else {}


def _result(result: swarm.Result) -> Values:
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


EXCEPTIONS = WireExceptions(
    read={"SwarmOptions": read_loss},
    write={"SwarmOptions": _write_options},
    results={"SwarmResult": _result},
)
