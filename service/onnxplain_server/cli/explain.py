"""The command `explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.model_pb2 import ModelDescription

from onnxplain_server.cli import backend, files, methods, progress, request
from onnxplain_server.cli.choices import choices, one_of
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
from onnxplain_server.cli.output import Output, formatted


def explain(
    context: typer.Context,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL]",
            help='ONNX file; "-" is standard input. Sequences that bring weights need none: "".',
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="[TABLE]",
            help='CSV, Parquet or Arrow file, .gz too; or "-". Few methods need none.',
        ),
    ] = None,
    *,
    request_file: Annotated[
        str | None,
        typer.Option(
            "--request",
            metavar="FILE",
            help="Canonical JSON of an ExplainRequest without model and table. Flags win over it.",
        ),
    ] = None,
    method: Annotated[  # noqa: ARG001 - MethodCommand reads it, in its order
        list[str] | None,
        typer.Option(
            metavar="NAME", help=f"What to compute; repeatable: {', '.join(methods.METHOD_NAMES)}."
        ),
    ] = None,
    set_: Annotated[  # noqa: ARG001 - likewise
        list[str] | None,
        typer.Option(
            "--set",
            metavar="OPTION=VALUE",
            help="Option of the method before it, see `onnxplain options NAME`; JSON, or text.",
        ),
    ] = None,
    feature_columns: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME,...", help="Columns that a one-matrix model is fed."),
    ] = None,
    target_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column with the true values.")
    ] = None,
    weight_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column with case weights.")
    ] = None,
    output_indices: Annotated[
        list[str] | None,
        typer.Option(metavar="INDEX,...", help="Prediction columns to explain, from 0."),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            parser=one_of(ModelDescription.Scale),
            metavar=choices(ModelDescription.Scale),
            help="Scale of the predictions.",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            parser=one_of(ExplainRequest.Engine),
            metavar=choices(ExplainRequest.Engine),
            help="What computes the effects.",
        ),
    ] = None,
    row_count: Annotated[
        int | None,
        typer.Option(
            help="Rows to draw before computing.  [default: what each method can afford, from 500 "
            "to all]"
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of that draw.  [default: 0]")] = None,
    class_labels: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL,...",
            help="The target's classes, in the order of the model's outputs; for one output, two, "
            "the negative first.  [default: those of the same name or number]",
        ),
    ] = None,
    plots: Annotated[
        bool | None, typer.Option(help="Whether plots come with the answer.  [default: plots]")
    ] = None,
    allow_inconsistent_model: Annotated[
        bool | None,
        typer.Option(
            "--allow-inconsistent-model",
            help="Explain a model that answers the same row differently; such are refused.",
        ),
    ] = None,
    output: Annotated[Output, typer.Option(help="Form of the answer.")] = Output.JSON,
    output_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to; default standard output.")
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="A server to ask (gRPC); default: this process."),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Longest time to wait.")
    ] = None,
    token_file: TokenFile = None,
    tls: Tls = False,
    ca_file: CaFile = None,
    certificate_file: CertificateFile = None,
    key_file: KeyFile = None,
    allow_unencrypted_token: AllowUnencryptedToken = False,
) -> None:
    """Explain MODEL on the rows of TABLE.

    onnxplain explain model.onnx rows.csv --method interactions --set pairwise_feature_count=3
    """
    flags = {
        "feature_columns": request.names(feature_columns or []),
        "target_column": target_column,
        "weight_column": weight_column,
        "output_indices": request.names(output_indices or []),
        "scale": scale,
        "engine": engine,
        "row_count": row_count,
        "seed": seed,
        "class_labels": request.names(class_labels or []),
        "plots": plots,
        "allow_inconsistent_model": allow_inconsistent_model,
    }
    connection = Connection(
        token_file, tls, ca_file, certificate_file, key_file, allow_unencrypted_token
    )
    with in_one_line():
        asked = request.build(model, table, request_file, methods.from_context(context), flags)
        place = backend.choose(context.obj, endpoint, timeout, connection)
        with files.destination(output_file) as write:
            with progress.bar() as tell:
                answer = place.explain(asked, tell)
            write(formatted(answer, output, Path(model or "").name))
