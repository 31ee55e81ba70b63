"""Command `predict`: predictions of rows of a table."""

# ruff: noqa: ARG001 - flags of a remote model are read from the context
from __future__ import annotations

from typing import Annotated

import typer
from onnxplain.transport.rpcs import PREDICT
from onnxplain.v1.explanation_service_pb2 import PredictRequest

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
from onnxplain_server.cli.failure import in_short
from onnxplain_server.cli.output.formats import DEFAULT_OUTPUT, RowsOutput, is_for_terminal
from onnxplain_server.cli.output.formatting import formatted_predictions
from onnxplain_server.cli.requests import prediction_flags, remote_model, request
from onnxplain_server.cli.requests.flag_names import flags_by_field
from onnxplain_server.cli.rows.described_rows import (
    FeatureColumns,
    InputColumns,
    TargetColumn,
    WeightColumn,
)
from onnxplain_server.cli.rows.row_numbers import row_numbers
from onnxplain_server.cli.terminal.error_lines import Names


# Long: every flag is a parameter.
def predict(
    context: typer.Context,
    model: prediction_flags.Model,
    table: prediction_flags.Table,
    *,
    rows: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROW,...",
            help="Rows to predict, from 0, in this order.  [default: all, at most 10,000]",
        ),
    ] = None,
    feature_columns: FeatureColumns = None,
    input_columns: InputColumns = None,
    target_column: TargetColumn = None,
    weight_column: WeightColumn = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME,...", help="Outputs to predict.  [default: all]"),
    ] = None,
    prediction: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXPRESSION",
            help="What to predict in place of the outputs: an expression over them, like 'exp(y)'; "
            "repeatable.",
        ),
    ] = None,
    scale: prediction_flags.Scale = None,
    allow_inconsistent_model: prediction_flags.AllowInconsistentModel = False,
    output: Annotated[RowsOutput | None, typer.Option(help=DEFAULT_OUTPUT)] = None,
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
    """Predict rows of TABLE by MODEL.

    onnxplain predict model.onnx rows.csv --rows 0,5,7
    """
    connection = Connection(
        token_file, tls, ca_file, certificate_file, key_file, allow_unencrypted_token
    )
    shown = {"model": request.shown_path(model), "table": request.shown_path(table)}
    flags = flags_by_field(context, PredictRequest.DESCRIPTOR.fields_by_name)
    with in_short(Names(flags=flags, files=shown)):
        files.check_one_stdin([model, table])
        remote = remote_model.remote_model(model, context.params)
        message = PredictRequest(
            model=remote or request.model_message(model),
            table=request.table_message(table),
            row_indices=row_numbers(rows),
            feature_columns=request.split(feature_columns or []),
            input_columns=request.input_columns(input_columns or []),
            **request.targets(target_column),
            weight_column=weight_column or "",
            outputs=request.split(outputs or []),
            prediction=prediction or [],
            scale=scale,
            allow_inconsistent_model=allow_inconsistent_model,
        )
        answer = backend.choose(context.obj, endpoint, timeout, connection).answer(PREDICT, message)
        with files.destination(None) as write:
            write(formatted_predictions(answer, output, to_terminal=is_for_terminal(None)))
