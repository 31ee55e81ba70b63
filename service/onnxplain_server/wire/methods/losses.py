"""Losses on the wire: of average loss, permutation importance and swarm."""

from __future__ import annotations

from typing import Any

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire.message_fields import Values, WireExceptions


def read_loss(message: Any, path: str) -> Values:
    """Refuse a loss beside an expression; read all else by the names of the fields."""
    if message.loss and message.loss_expression:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "loss and loss_expression are two losses; leave one of them out",
            f"{path}.loss_expression",
        )
    return {}


def _write_loss(options: Any) -> Values:
    """Leave out the loss if an expression takes its place."""
    return {"loss": None} if options.comparison.loss_expression else {}


_COMPARED = ("AverageLossOptions", "PermutationImportanceOptions")


def _intervals(loss: Any) -> Values:
    """Write the spread of an average loss over replicates; nothing without these."""
    return {name: getattr(loss.band, name, None) for name in ("standard_errors", "lower", "upper")}


EXCEPTIONS = WireExceptions(
    read=dict.fromkeys(_COMPARED, read_loss),
    write=dict.fromkeys(_COMPARED, _write_loss),
    results={"AverageLoss": _intervals},
)
