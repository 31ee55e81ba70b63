"""Flags of commands that predict rows of a table: model, table, scale."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer
from onnxplain.v1.model_pb2 import ModelDescription

from onnxplain_server.cli.requests.parsers import names_of, one_of

MODEL_FILE = "Model file (ONNX, or as XGBoost, LightGBM or CatBoost save it)"

Model: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help=f'{MODEL_FILE} or its URI; "-" is standard input; with --remote-protocol, the address '
        "of a server of models.",
    ),
]
Table: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="TABLE", help='CSV, Parquet or Arrow IPC file or its URI; "-" is standard input.'
    ),
]
Scale: TypeAlias = Annotated[
    str | None,
    typer.Option(
        parser=one_of(ModelDescription.Scale),
        metavar="|".join(names_of(ModelDescription.Scale)),
        help="Scale of the predictions.",
    ),
]
AllowInconsistentModel: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--allow-inconsistent-model",
        help="Do not refuse a model that gives different predictions for the same row.",
    ),
]
