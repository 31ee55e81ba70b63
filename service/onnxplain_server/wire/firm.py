"""FIRM: options from and to messages, results to messages."""

from __future__ import annotations

from onnxplain.v1 import firm_pb2 as pb

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods import sequences as firm_sequences
from onnxplain_server.methods.firm import (
    Combination,
    Contrast,
    Covariance,
    Estimator,
    Options,
    Pairs,
    Result,
    ScoreSource,
)
from onnxplain_server.methods.firm.result import ConditionalExpectation, FirmImportance
from onnxplain_server.methods.resampling import Resampling
from onnxplain_server.wire import sequences
from onnxplain_server.wire.message_fields import enum, given


def read_options(message: pb.FirmOptions, path: str) -> Options | firm_sequences.Options:
    """Read options, absent ones as their defaults; `path` names them in errors."""
    if message.HasField("sequences"):
        return sequences.read_options(message, path)
    estimator = enum(message, "estimator", f"{path}.estimator")
    return Options(
        features=tuple(message.features),
        pairs=tuple(_pairs(m, f"{path}.pairs[{i}]") for i, m in enumerate(message.pairs)),
        estimator=Estimator(estimator) if estimator else None,
        source=ScoreSource(enum(message, "source", f"{path}.source") or "MODEL"),
        covariance=Covariance(enum(message, "covariance", f"{path}.covariance") or "EMPIRICAL"),
        keep_bias=message.keep_bias,
        standardize=message.standardize,
        contrasts=tuple(_contrast(number, f"{path}.contrasts") for number in message.contrasts),
        resampling=Resampling(**given(message, "repeat_count", "confidence_level")),
        **given(message, "bin_count", "one_hot_target"),
    )


def _pairs(message: pb.FirmPairs, path: str) -> Pairs:
    return Pairs(
        tuple(message.features),
        Combination(enum(message, "combination", f"{path}.combination") or "CONJUNCTION"),
        message.include_negations,
    )


def _contrast(number: int, path: str) -> Contrast:
    if number not in pb.FirmOptions.Contrast.values() or not number:
        raise ExplainError(Reason.INVALID_OPTION, f"no measure has the number {number}", path)
    return Contrast(pb.FirmOptions.Contrast.Name(number))


def write_options(options: Options) -> pb.FirmOptions:
    """Write options after defaults."""
    return pb.FirmOptions(
        features=options.features,
        pairs=[
            pb.FirmPairs(
                features=pairs.features,
                combination=pairs.combination.value,
                include_negations=pairs.include_negations,
            )
            for pairs in options.pairs
        ],
        estimator=options.estimator.value if options.estimator else None,
        source=options.source.value,
        covariance=options.covariance.value,
        bin_count=options.bin_count,
        keep_bias=options.keep_bias,
        standardize=options.standardize,
        contrasts=[contrast.value for contrast in options.contrasts],
        one_hot_target=options.one_hot_target,  # type: ignore[arg-type] # None: left out
        repeat_count=options.resampling.repeat_count,
        confidence_level=options.resampling.confidence_level,
    )


def write_result(result: Result) -> pb.FirmResult:
    """Write a result."""
    return pb.FirmResult(
        output_names=result.output_names,
        importances=[_importance(importance) for importance in result.importances],
        contrasts=[
            pb.FirmContrast(contrast=one.contrast.value, feature=one.feature, values=one.values)
            for one in result.contrasts
        ],
        mean_scores=result.means,
        score_standard_deviations=result.deviations,
        confidence_level=result.confidence_level,
    )


def _importance(importance: FirmImportance) -> pb.FirmImportance:
    message = pb.FirmImportance(
        feature=importance.feature,
        values=importance.values,
        estimator=importance.estimator.value,
        curve=_curve(importance.curve),
    )
    if importance.spread is not None:
        message.standard_errors.extend(importance.spread.standard_errors)
        message.lower.extend(importance.spread.lower)
        message.upper.extend(importance.spread.upper)
    return message


def _curve(curve: ConditionalExpectation) -> pb.FirmCurve:
    message = pb.FirmCurve(expected_scores=curve.expected.ravel(), shares=curve.shares)
    if curve.levels.dtype == object:
        message.texts.extend(curve.levels)
    else:
        message.numbers.extend(curve.levels)
    return message
