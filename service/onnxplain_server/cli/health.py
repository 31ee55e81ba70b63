"""Command `health`: the gRPC health check of a server."""

from __future__ import annotations

from typing import Annotated

import typer

from onnxplain_server.cli.connection import (
    AllowUnencryptedToken,
    CaFile,
    CertificateFile,
    Connection,
    KeyFile,
    Tls,
    TokenFile,
)
from onnxplain_server.cli.failure import CommandError, in_short

_SERVING = "SERVING"


def health(
    endpoint: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="gRPC address of the server.")
    ] = "localhost:8081",
    timeout: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Timeout of the call.")
    ] = 5.0,
    *,
    token_file: TokenFile = None,
    tls: Tls = False,
    ca_file: CaFile = None,
    certificate_file: CertificateFile = None,
    key_file: KeyFile = None,
    allow_unencrypted_token: AllowUnencryptedToken = False,
) -> None:
    """Check the health of a server; exit code 0 only if it is serving."""
    connection = Connection(
        token_file, tls, ca_file, certificate_file, key_file, allow_unencrypted_token
    )
    with in_short(), connection.open(endpoint, timeout) as client:
        status = client.health()
        if status != _SERVING:
            raise CommandError(status, f"{endpoint} is not serving")
        typer.echo(status)
