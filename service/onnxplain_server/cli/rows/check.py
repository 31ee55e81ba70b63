"""Command `check`: the model beside what its library predicted."""

# ruff: noqa: ARG001 - flags of a remote model are read from the context
from __future__ import annotations

from typing import Annotated

import typer
from onnxplain.transport.rpcs import CHECK
from onnxplain.v1.explanation_service_pb2 import CheckModelRequest

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
from onnxplain_server.cli.failure import DIFFERS, UsageFault, in_short
from onnxplain_server.cli.output.formats import DEFAULT_OUTPUT, DescriptionOutput, is_for_terminal
from onnxplain_server.cli.output.formatting import formatted_check
from onnxplain_server.cli.requests import prediction_flags, remote_model, request
from onnxplain_server.cli.requests.flag_names import flags_by_field
from onnxplain_server.cli.rows.described_rows import (
    FeatureColumns,
    InputColumns,
    WeightColumn,
)
from onnxplain_server.cli.terminal.error_lines import Names


# Long: every flag is a parameter.
def check(
    context: typer.Context,
    model: prediction_flags.Model,
    table: prediction_flags.Table,
    *,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="CSV, Parquet or Arrow IPC file with what the library predicts for each row of "
            "TABLE, in its order.",
        ),
    ] = None,
    expected_prediction_columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,...",
            help="Columns with what the library predicts, one for each output: of FILE with "
            "--against, whose columns all count by default, but for row numbers; without it "
            "columns of TABLE, which are no features.",
        ),
    ] = None,
    feature_columns: FeatureColumns = None,
    input_columns: InputColumns = None,
    target_column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A column that is no feature of a model without names."),
    ] = None,
    weight_column: WeightColumn = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,...",
            help="Outputs to compare.  [default: as many as there are predictions]",
        ),
    ] = None,
    prediction: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXPRESSION",
            help="What to compare in place of the outputs: an expression over them, like 'exp(y)'; "
            "repeatable.",
        ),
    ] = None,
    scale: prediction_flags.Scale = None,
    allow_inconsistent_model: prediction_flags.AllowInconsistentModel = False,
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
    """Compare MODEL with what its library predicts for TABLE; exit code 3 where they differ.

    onnxplain check model.onnx rows.csv --against predictions.csv

    onnxplain check model.onnx rows.csv --expected-prediction-columns p_no,p_yes
    """
    connection = Connection(
        token_file, tls, ca_file, certificate_file, key_file, allow_unencrypted_token
    )
    paths = {"model": model, "table": table, **({"against": against} if against else {})}
    shown = {name: request.shown_path(path) for name, path in paths.items()}
    flags = flags_by_field(context, CheckModelRequest.DESCRIPTOR.fields_by_name)
    with in_short(Names(flags=flags, files=shown)):
        files.check_one_stdin([model, table, against])
        remote = remote_model.remote_model(model, context.params)
        rows = request.table_message(table)
        columns = request.split(expected_prediction_columns or [])
        if against is None and not columns:
            raise UsageFault(
                "no expected predictions: give a file by --against, or columns of TABLE by "
                "--expected-prediction-columns"
            )
        if against is not None:
            from onnxplain_server.cli.requests.against import (  # noqa: PLC0415 - help needs no numpy
                beside,
            )

            rows, columns = beside(rows, request.table_message(against), columns)
        message = CheckModelRequest(
            model=remote or request.model_message(model),
            table=rows,
            expected_prediction_columns=columns,
            feature_columns=request.split(feature_columns or []),
            input_columns=request.input_columns(input_columns or []),
            target_column=target_column or "",
            weight_column=weight_column or "",
            outputs=request.split(outputs or []),
            prediction=prediction or [],
            scale=scale,
            allow_inconsistent_model=allow_inconsistent_model,
        )
        answer = backend.choose(context.obj, endpoint, timeout, connection).answer(CHECK, message)
        with files.destination(None) as write:
            write(formatted_check(answer, output, to_terminal=is_for_terminal(None)))
    if not answer.comparison.agrees:
        raise typer.Exit(DIFFERS)
