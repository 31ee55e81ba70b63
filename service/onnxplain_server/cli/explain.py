"""Command `explain`: computes explanations of a model on the rows of a table.

The function is long because typer makes one flag from each parameter.
"""

# ruff: noqa: ARG001 - `asked` and MethodCommand read flags from the context
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from onnxplain.transport.rpcs import DESCRIBE
from onnxplain.v1.explanation_service_pb2 import ExplainRequest

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
from onnxplain_server.cli.output import formatting, progress
from onnxplain_server.cli.output.formats import (
    DEFAULT_FILE_OUTPUT,
    Output,
    is_for_terminal,
    of_ending,
)
from onnxplain_server.cli.output.long_work import warn_of_long_work
from onnxplain_server.cli.requests import cluster, methods, prediction_flags, remote_model, request
from onnxplain_server.cli.requests.large_table import large_table
from onnxplain_server.cli.requests.parsers import (
    names_of,
    one_of,
    parse_byte_count,
    parse_row_count,
)
from onnxplain_server.cli.requests.text_columns import TextColumns
from onnxplain_server.cli.rows.described_rows import (
    ExpectedPredictionColumns,
    FeatureColumns,
    InputColumns,
)
from onnxplain_server.core import contract_limits

COMMAND_CLASS = methods.MethodCommand


# Long: every flag is a parameter.
def explain(
    context: typer.Context,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL]",
            help=f'{prediction_flags.MODEL_FILE} or its URI; or "-", standard input; with '
            "--remote-protocol, the address of a server of models. Not all methods need one.",
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="[TABLE]",
            help='CSV, Parquet or Arrow file, also .gz; a URI; or "-". Some methods need none.',
        ),
    ] = None,
    *,
    request_file: Annotated[
        str | None,
        typer.Option(
            "--request",
            metavar="FILE",
            help="ExplainRequest as canonical JSON, without model and table. Flags override it.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Method to compute; repeatable: {', '.join(methods.METHOD_NAMES)}.  "
            "[default: an overview]",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="OPTION=VALUE",
            help="Option of the preceding method: JSON, text or a file; see `onnxplain options`.",
        ),
    ] = None,
    feature_columns: FeatureColumns = None,
    input_columns: InputColumns = None,
    target_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...", help="Column with the true values; several, one for each output."
        ),
    ] = None,
    weight_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column with case weights.")
    ] = None,
    cluster_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of the clusters that replicates of the rows draw: houses, patients, days.",
        ),
    ] = None,
    output_indices: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INDEX,...",
            help="Prediction columns to explain, counted from 0; also their names, if these are "
            "no whole numbers.  [default: the second of a binary classifier, else all]",
        ),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME,...", help="Prediction columns to explain, by name."),
    ] = None,
    expected_prediction_columns: ExpectedPredictionColumns = None,
    prediction: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXPRESSION",
            help="What to explain in place of the model's outputs: an expression over them, like "
            "'exp(y)', 'high - low' or 'price = exp(y)'; repeatable.",
        ),
    ] = None,
    scale: prediction_flags.Scale = None,
    engine: Annotated[
        str | None,
        typer.Option(
            parser=one_of(ExplainRequest.Engine),
            metavar="|".join(names_of(ExplainRequest.Engine)),
            help="Engine that computes the effects.",
        ),
    ] = None,
    budget_seconds: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Time that the methods may take, about; what does not fit is on fewer rows.  "
            f"[default: {contract_limits.ExplainRequest.budget_seconds.default:g} for an overview, "
            "no limit for named methods]",
        ),
    ] = None,
    budget_predicted_row_count: Annotated[
        float | None,
        typer.Option(
            metavar="COUNT",
            help="Rows that the model may predict for the methods.  [default: no limit]",
        ),
    ] = None,
    row_count: Annotated[
        int | None,
        typer.Option(
            parser=parse_row_count,
            metavar="INTEGER|all",
            help="Rows to sample before computing.  [default: by method, "
            "see `onnxplain options NAME`]",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the sample.  [default: 0]")] = None,
    class_labels: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL,...",
            help="Classes of the target, in the order of the model's outputs; for one output, the "
            "negative and the positive class.  [default: matched by name or number]",
        ),
    ] = None,
    model_name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the model in titles.  [default: the name of its file]",
        ),
    ] = None,
    result_uri: files.ResultUri = None,
    replicates: Annotated[
        bool | None,
        typer.Option(
            "--replicates",
            help="Keep replicates in the answer, so that `compare` takes it as a reference.",
        ),
    ] = None,
    plots: Annotated[
        bool | None, typer.Option(help="Include plots in the answer.  [default: plots]")
    ] = None,
    allow_inconsistent_model: Annotated[
        bool | None,
        typer.Option(
            "--allow-inconsistent-model",
            help="Do not refuse a model that gives different predictions for the same row.",
        ),
    ] = None,
    memory_bytes: Annotated[
        int | None,
        typer.Option(
            parser=parse_byte_count,
            metavar="BYTES",
            help="Memory of the computation, like 512MiB: a Parquet, Arrow or CSV file that would "
            "need more is read in blocks; at least what a task of the model's trees needs, which a "
            "refusal tells.  [default: half of the machine's memory]",
        ),
    ] = None,
    remote_protocol: remote_model.RemoteProtocol = None,
    remote_name: remote_model.RemoteName = None,
    remote_version: remote_model.RemoteVersion = None,
    remote_inputs: remote_model.RemoteInputs = None,
    remote_matrix: remote_model.RemoteMatrix = None,
    remote_output: remote_model.RemoteOutput = None,
    remote_output_names: remote_model.RemoteOutputNames = None,
    remote_identity: remote_model.RemoteIdentity = None,
    dask_scheduler: cluster.DaskScheduler = None,
    dask_ca_file: cluster.DaskCaFile = None,
    dask_certificate_file: cluster.DaskCertificateFile = None,
    dask_key_file: cluster.DaskKeyFile = None,
    output: Annotated[Output | None, typer.Option(help=DEFAULT_FILE_OUTPUT)] = None,
    output_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output file; default: standard output.")
    ] = None,
    endpoint: Endpoint = None,
    timeout: Timeout = None,
    token_file: TokenFile = None,
    tls: Tls = False,
    ca_file: CaFile = None,
    certificate_file: CertificateFile = None,
    key_file: KeyFile = None,
    allow_unencrypted_token: AllowUnencryptedToken = False,
) -> None:
    """Explain MODEL on the rows of TABLE: by an overview, or by the methods named.

    onnxplain explain model.onnx rows.csv --target-column price

    onnxplain explain model.onnx rows.csv --method interactions --set pairwise_feature_count=3

    onnxplain explain http://HOST:8080 rows.csv --remote-protocol oip-rest --remote-name churn

    Without a model, feature_vectors and firm explain the target column itself:

    onnxplain explain rows.csv --method feature_vectors --target-column price
    """
    with asked(context) as (chosen, message):
        output = output or of_ending(Output, output_file)
        warn_of_long_work(chosen, message)
        with files.destination(output_file) as write:
            with progress.bar() as on_progress:
                answer = chosen.explain(message, on_progress)
            name = Path(model or table or "").name
            to_terminal = is_for_terminal(output_file)
            written = formatting.formatted(
                answer, output, name, to_terminal=to_terminal, target=message.target_column
            )
            write(written)


_CONNECTION = (
    *("token_file", "tls", "ca_file", "certificate_file", "key_file"),
    "allow_unencrypted_token",
)


@contextmanager
def asked(context: typer.Context) -> Iterator[tuple[backend.Backend, ExplainRequest]]:
    """Yield the backend and the request that the flags of `explain` ask for; tell errors short."""
    given = context.params
    connection = Connection(*(given[name] for name in _CONNECTION))
    model, table, file = (given[name] for name in ("model", "table", "request_file"))
    with in_short(request.names(context, {"model": model, "table": table, "request": file})):
        endpoint, timeout = given["endpoint"], given["timeout"]
        with cluster.DaskCluster.from_flags(given).open(endpoint) as workers:
            large = None if endpoint else large_table(table, given["memory_bytes"], workers)
            whole = None if large else table
            remote = remote_model.remote_model(model, given)
            message = request.build(remote or model, whole, file, request.flags_of(given))
            service = context.obj, endpoint, timeout, connection
            chosen = backend.choose(*service, large, workers)
            texts = TextColumns(message, partial(chosen.answer, DESCRIBE))
            request.add_methods(message, methods.from_context(context, texts))
            yield chosen, message
