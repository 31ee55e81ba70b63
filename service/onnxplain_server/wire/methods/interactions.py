"""Interaction statistics on the wire: resampling by its scheme, intervals flat."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onnxplain_server.methods.resampling import Resampling, Scheme
from onnxplain_server.wire import message_fields
from onnxplain_server.wire.message_fields import Values, WireExceptions, enum

if TYPE_CHECKING:
    from onnxplain_server.methods import interactions


def _read_resampling(message: Any, path: str) -> Values:
    scheme = enum(message, "resampling", f"{path}.resampling")
    resampling = message_fields.read(message, Resampling, path)
    return {"resampling": replace(resampling, scheme=Scheme(scheme)) if scheme else resampling}


def _result(result: interactions.Result) -> Values:
    level = result.resampling.confidence_level
    return {"confidence_level": level if result.total.spread else None}


def interval(spread: object, *names: str) -> Values:
    """Flatten standard errors and intervals; None without resampling."""
    names = ("standard_errors", "lower", "upper", *names)
    return {name: getattr(spread, name, None) for name in names}


EXCEPTIONS = WireExceptions(
    read={"InteractionsOptions": _read_resampling},
    write={"InteractionsOptions": lambda options: {"resampling": options.resampling.scheme}},
    results={
        "InteractionsResult": _result,
        "InteractionStatistic": lambda statistic: interval(statistic.spread, "biases"),
    },
)
