"""Command `describe`: inputs, outputs and features of a model."""

# ruff: noqa: ARG001 - flags of a remote model are read from the context
from __future__ import annotations

from typing import Annotated

import typer
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest

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
from onnxplain_server.cli.failure import in_short
from onnxplain_server.cli.output.error_lines import Names
from onnxplain_server.cli.output.formats import DEFAULT_OUTPUT, DescriptionOutput, is_for_terminal
from onnxplain_server.cli.output.formatting import formatted_description
from onnxplain_server.cli.requests import remote_model, request


# Long: every flag is a parameter.
def describe(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help='ONNX file or its URI; "-" is standard input; with --remote-protocol, the address '
            "of a server of models.",
        ),
    ],
    output: Annotated[DescriptionOutput | None, typer.Option(help=DEFAULT_OUTPUT)] = None,
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
    remote_protocol: remote_model.RemoteProtocol = None,
    remote_name: remote_model.RemoteName = None,
    remote_version: remote_model.RemoteVersion = None,
    remote_inputs: remote_model.RemoteInputs = None,
    remote_matrix: remote_model.RemoteMatrix = None,
    remote_output: remote_model.RemoteOutput = None,
    remote_output_names: remote_model.RemoteOutputNames = None,
    remote_identity: remote_model.RemoteIdentity = None,
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
    with in_short(Names(files={"model": request.shown_path(model)})):
        remote = remote_model.remote_model(model, context.params)
        message = DescribeModelRequest(model=remote or request.model_message(model))
        answer = backend.choose(context.obj, endpoint, timeout, connection).describe(message)
        with files.destination(None) as write:
            write(formatted_description(answer, output, to_terminal=is_for_terminal(None)))
