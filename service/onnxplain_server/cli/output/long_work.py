"""Warning on a terminal before an explanation that takes long."""

from __future__ import annotations

import sys
from contextlib import suppress

import onnxplain
import typer
from onnxplain.progress import spell_time
from onnxplain.transport.rpcs import PLAN
from onnxplain.v1.explanation_service_pb2 import ExplainRequest

from onnxplain_server.cli.backend import Backend
from onnxplain_server.cli.failure import CommandError
from onnxplain_server.core.errors import ExplainError

_LONG_SECONDS = 60


def warn_of_long_work(chosen: Backend, message: ExplainRequest) -> None:
    """Tell on a terminal that an explanation would take over a minute."""
    if not sys.stderr.isatty():
        return
    with suppress(ExplainError, onnxplain.ExplainError, CommandError):  # computing it raises it too
        seconds = chosen.answer(PLAN, message).seconds
        if seconds.high > _LONG_SECONDS:
            text = f"this takes about {spell_time(seconds.low)} to {spell_time(seconds.high)}"
            typer.echo(f"{text}; `onnxplain plan` tells how to make it shorter", err=True)
