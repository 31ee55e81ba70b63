"""The swarm: options from and to messages, results to messages."""

from __future__ import annotations

from typing import Any

from onnxplain.v1 import swarm_pb2 as pb

from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.swarm import (
    Effect,
    Motion,
    Options,
    ParticleStart,
    Perturbation,
    Resolution,
    Result,
    Score,
    Search,
    SearchSettings,
)
from onnxplain_server.methods.swarm.searching import Optimum
from onnxplain_server.wire.message_fields import enum, given

_SEARCH_SETTINGS = ("particle_count", "iteration_count", "restart_count", "velocity_limit")
_MOTION = ("weight_limit", "zero_offset")
_RESOLUTION = ("window_count", "point_count", "sliver_width")


def read_options(message: pb.SwarmOptions, path: str) -> Options:
    """Read options, absent ones as their defaults; `path` names them in errors."""

    def chosen(name: str) -> str:
        return enum(message, name, f"{path}.{name}")

    search, score, loss = chosen("search"), chosen("score"), chosen("loss")
    return Options(
        features=tuple(message.features),
        classes=tuple(message.classes),
        search=Search(search) if search else None,
        score=Score(score) if score else None,
        loss=Loss(loss) if loss else None,
        target_columns=tuple(message.target_columns),
        search_settings=SearchSettings(
            start=ParticleStart(chosen("start") or "UNPERTURBED"),
            **given(message, *_SEARCH_SETTINGS),
        ),
        motion=Motion(
            Perturbation(chosen("perturbation") or "MULTIPLICATION"), **given(message, *_MOTION)
        ),
        resolution=Resolution(**given(message, *_RESOLUTION)),
        row_indices=tuple(message.row_indices),
    )


def write_options(options: Options) -> pb.SwarmOptions:
    """Write options after defaults; those of a search that was not used are left out."""
    settings, motion, resolution = options.search_settings, options.motion, options.resolution
    message = pb.SwarmOptions(
        features=options.features,
        classes=options.classes,
        search=options.search.value if options.search else None,
        score=options.score.value if options.score else None,
        loss=options.loss.value if options.loss else None,
        target_columns=options.target_columns,
        perturbation=motion.perturbation.value,
        row_indices=options.row_indices,
    )
    parts: list[tuple[Any, tuple[str, ...]]] = [(motion, _MOTION), (resolution, _RESOLUTION)]
    if options.search is not Search.EXACT:
        parts.append((settings, _SEARCH_SETTINGS))
        message.start = pb.SwarmOptions.Start.Value(settings.start.value)  # type: ignore[assignment] # its stub knows no numbers
    for part, names in parts:
        for name in names:
            setattr(message, name, getattr(part, name))
    return message


def write_result(result: Result) -> pb.SwarmResult:
    """Write a result."""
    return pb.SwarmResult(
        class_names=result.class_names,
        features=result.features,
        effects=[_effect(effect, result.resolution.point_count) for effect in result.effects],
        baseline_score=result.baseline_score,
        importances=[
            pb.SwarmImportance(feature=name, value=value, relative_value=relative)
            for name, value, relative in zip(
                result.features, result.importances, result.relative_importances, strict=True
            )
        ],
        similarity=result.similarity.ravel(),
        window_borders=result.borders,
    )


def _effect(effect: Effect, point_count: int) -> pb.SwarmEffect:
    found = effect.search_result
    curve = found.curve.joined(point_count)
    return pb.SwarmEffect(
        class_name=effect.class_name,
        feature=effect.feature,
        row_index=effect.row_index,
        row_count=effect.row_count,
        importance=effect.importance,
        best_weight=found.best_weight,
        best_score=found.best_score,
        mean_weight_distance=found.distance,
        mean_score_drop=found.drop,
        optimum=_optimum(found.optimum),
        stable_optimum=_optimum(found.stable_optimum),
        agreement=found.agreement,
        curve=pb.SwarmCurve(
            weights=curve.lows,
            scores=curve.scores,
            class_shares=curve.shares.ravel(),
            is_joined=len(curve) < len(found.curve),
        ),
        windows=pb.SwarmWindows(
            scores=effect.window_scores, class_shares=effect.window_shares.ravel()
        ),
        class_similarities=effect.similarities,
        values=pb.SwarmHistogram(borders=effect.values.borders, counts=effect.values.counts),
        particle_weights=found.particle_weights,
        reach=pb.SwarmReach(
            observed_low=effect.reach.observed_low,
            observed_high=effect.reach.observed_high,
            moved_low=effect.reach.moved_low,
            moved_high=effect.reach.moved_high,
            outside_share=effect.reach.outside_share,
        ),
    )


def _optimum(found: Optimum | None) -> pb.SwarmOptimum | None:
    if found is None:
        return None
    return pb.SwarmOptimum(weight=found.weight, score=found.score, low=found.low, high=found.high)
