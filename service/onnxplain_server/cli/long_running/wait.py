"""Command `wait`: waits for an operation, and writes its answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onnxplain_server.cli import files
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
from onnxplain_server.cli.output import formatting, progress
from onnxplain_server.cli.output.formats import (
    DEFAULT_FILE_OUTPUT,
    Output,
    is_for_terminal,
    of_ending,
)


# Long: typer makes one flag from each parameter.
def wait(
    name: Annotated[str, typer.Argument(metavar="OPERATION", help="Name that `start` printed.")],
    output: Annotated[Output | None, typer.Option(help=DEFAULT_FILE_OUTPUT)] = None,
    output_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output file; default: standard output.")
    ] = None,
    endpoint: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="gRPC address of the server.")
    ] = "localhost:8081",
    timeout: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="Longest wait.  [default: no limit]"),
    ] = None,
    *,
    token_file: TokenFile = None,
    tls: Tls = False,
    ca_file: CaFile = None,
    certificate_file: CertificateFile = None,
    key_file: KeyFile = None,
    allow_unencrypted_token: AllowUnencryptedToken = False,
) -> None:
    """Wait for OPERATION and write its answer; exit code 1 if it has none.

    Ctrl-C ends the waiting, and not the operation.
    """
    connection = Connection(
        token_file, tls, ca_file, certificate_file, key_file, allow_unencrypted_token
    )
    with in_short(), connection.open(endpoint, None) as client:
        operation = client.operation(name)
        with files.destination(output_file) as write:
            with progress.bar() as on_progress:
                is_done = operation.wait(timeout=timeout, progress=on_progress or False)
            if not is_done:
                message = f"the operation is {operation.state} after {timeout:g} s; wait again"
                raise CommandError("OPERATION_NOT_DONE", message)
            answer = operation.result().message
            output = output or of_ending(Output, output_file)
            to_terminal = is_for_terminal(output_file)
            write(formatting.formatted(answer, output, "", to_terminal=to_terminal))
