"""Command `explainer`: the command `serve` with the arguments of KServe's containers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import typer

from onnxplain_server.cli.requests import setting_flags
from onnxplain_server.cli.serve import serve

KSERVE_FLAGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "explainer_name": ("--model_name",),
        "explainer_predictor_host": ("--predictor_host",),
        "explainer_predictor_protocol": ("--predictor_protocol", "--protocol"),
        "explainer_predictor_use_ssl": ("--predictor_use_ssl",),
        "rest_port": ("--http_port",),
        "grpc_port": ("--grpc_port",),
        "running_count": ("--workers",),
    }
)
"""Arguments of KServe's containers, by the settings that they stand for."""


def explainer(context: typer.Context, **flags: str | bool | None) -> None:
    """Serve as the explainer container of KServe, whose arguments it takes too.

    The same as `serve`. KServe's controller appends --model_name, --predictor_host, --http_port and
    sometimes --workers to the arguments of the container.
    """
    serve(context, **flags)


explainer.__signature__ = setting_flags.signature(KSERVE_FLAGS)  # type: ignore[attr-defined] # as of `serve`
