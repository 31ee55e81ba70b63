"""Command `describe`: inputs, outputs and features of a model."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest
from onnxplain.v1.model_pb2 import Model

from onnxplain_server.cli import backend, files
from onnxplain_server.cli.connection import (
    AllowUnencryptedToken,
    CaFile,
    CertificateFile,
    Connection,
    KeyFile,
    Tls,
    TokenFile,
)
from onnxplain_server.cli.failure import in_one_line
from onnxplain_server.cli.output import model_table
from onnxplain_server.wire import canonical


class DescriptionOutput(Enum):
    """Output formats of a description."""

    JSON = "json"
    TABLE = "table"


def describe(
    context: typer.Context,
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help='ONNX file; "-" is standard input.')
    ],
    output: Annotated[
        DescriptionOutput, typer.Option(help="Output format.")
    ] = DescriptionOutput.JSON,
    endpoint: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="gRPC address of a server; default: compute in this process."
        ),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Timeout of the call.")
    ] = None,
    *,
    token_file: TokenFile = None,
    tls: Tls = False,
    ca_file: CaFile = None,
    certificate_file: CertificateFile = None,
    key_file: KeyFile = None,
    allow_unencrypted_token: AllowUnencryptedToken = False,
) -> None:
    """Describe the inputs and outputs of MODEL."""
    connection = Connection(
        token_file, tls, ca_file, certificate_file, key_file, allow_unencrypted_token
    )
    with in_one_line():
        request = DescribeModelRequest(model=Model(content=files.read(model)))
        answer = backend.choose(context.obj, endpoint, timeout, connection).describe(request)
        is_json = output is DescriptionOutput.JSON
        text = canonical.encode(answer, indent=2) + "\n" if is_json else model_table(answer.model)
        with files.destination(None) as write:
            write(text.encode())
