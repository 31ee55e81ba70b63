"""The command `health`."""

from __future__ import annotations

from typing import Annotated

import onnxplain
import typer

from onnxplain_server.cli.failure import CommandError, in_one_line

_SERVING = "SERVING"


def health(
    endpoint: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="The server to ask (gRPC).")
    ] = "localhost:8081",
    timeout: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Longest time to wait.")
    ] = 5.0,
) -> None:
    """Ask a server whether it serves; exit code 0 only if it does."""
    with in_one_line(), onnxplain.connect(endpoint, timeout=timeout) as client:
        status = client.health()
        if status != _SERVING:
            raise CommandError(status, f"{endpoint} takes no requests")
        typer.echo(status)
