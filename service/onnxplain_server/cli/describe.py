"""Command `describe`: inputs and outputs of a model, or columns and rows of a table."""

# ruff: noqa: ARG001 - flags of a remote model are read from the context
from __future__ import annotations

from typing import Annotated

import typer
from onnxplain.transport.rpcs import DESCRIBE, DESCRIBE_TABLE
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest, DescribeTableRequest

from onnxplain_server.cli import backend, files
from onnxplain_server.cli.connection import (
    AllowUnencryptedToken,
    CaFile,
    CertificateFile,
    Connection,
    Endpoint,
    KeyFile,
    Timeout,
    Tls,
    TokenFile,
)
from onnxplain_server.cli.failure import UsageFault, in_short
from onnxplain_server.cli.output.formats import DEFAULT_OUTPUT, DescriptionOutput, is_for_terminal
from onnxplain_server.cli.output.formatting import formatted_description, formatted_table
from onnxplain_server.cli.requests import remote_model, request
from onnxplain_server.cli.requests.flag_names import flags_by_field
from onnxplain_server.cli.requests.prediction_flags import MODEL_FILE
from onnxplain_server.cli.rows import described_rows
from onnxplain_server.cli.terminal.error_lines import Names


# Long: every flag is a parameter.
def describe(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help=f'{MODEL_FILE} or its URI; "-" is standard input; with --remote-protocol, the '
            "address of a server of models. Alone, it may be the file of a table.",
        ),
    ],
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="[TABLE]",
            help="CSV, Parquet or Arrow IPC file or its URI: it is described, and its columns are "
            "matched with what MODEL takes.",
        ),
    ] = None,
    *,
    rows: described_rows.Rows = None,
    row_count: described_rows.RowCount = None,
    near: described_rows.Near = None,
    feature_columns: described_rows.FeatureColumns = None,
    input_columns: described_rows.InputColumns = None,
    target_column: described_rows.TargetColumn = None,
    weight_column: described_rows.WeightColumn = None,
    output: Annotated[DescriptionOutput | None, typer.Option(help=DEFAULT_OUTPUT)] = None,
    endpoint: Endpoint = None,
    timeout: Timeout = None,
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
    """Describe the inputs and outputs of MODEL, or the columns and rows of TABLE.

    onnxplain describe model.onnx

    onnxplain describe model.onnx rows.csv

    onnxplain describe rows.csv --near age=35 --near city=Basel
    """
    connection = Connection(
        token_file, tls, ca_file, certificate_file, key_file, allow_unencrypted_token
    )
    shown = {"model": request.shown_path(model), "table": request.shown_path(table or model)}
    flags = flags_by_field(context, DescribeTableRequest.DESCRIPTOR.fields_by_name)
    with in_short(Names(flags=flags, files=shown)):
        fields = described_rows.table_fields(context.params)
        remote = remote_model.remote_model(model, context.params)
        chosen = backend.choose(context.obj, endpoint, timeout, connection)
        to_terminal = is_for_terminal(None)
        if table is not None or (not remote and request.is_table_file(model)):
            asked = DescribeTableRequest(table=request.table_message(table or model), **fields)
            if table is not None:
                files.check_one_stdin([model, table])
                asked.model.CopyFrom(remote or request.model_message(model))
            found = chosen.answer(DESCRIBE_TABLE, asked)
            with files.destination(None) as write:
                write(formatted_table(found, output, to_terminal=to_terminal))
            return
        if fields:
            raise UsageFault(
                "it asks for a table, and only a model is given",
                flags[next(iter(fields))],
            )
        message = DescribeModelRequest(model=remote or request.model_message(model))
        answer = chosen.answer(DESCRIBE, message)
        with files.destination(None) as write:
            write(formatted_description(answer, output, to_terminal=to_terminal))
