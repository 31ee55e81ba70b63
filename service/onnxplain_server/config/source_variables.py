"""Variables of AWS, Google and MLflow that commands and `onnxplain.local()` obey."""

from __future__ import annotations

import os

from onnxplain_server.adapters.sources.local_endpoints import LocalEndpoints


def local_endpoints() -> LocalEndpoints:
    """Return the endpoints that the user's variables name."""
    return LocalEndpoints(
        s3=_first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
        google=_first("STORAGE_EMULATOR_HOST"),
        registry=_first("MLFLOW_REGISTRY_URI", "MLFLOW_TRACKING_URI"),
        region=_first("AWS_REGION", "AWS_DEFAULT_REGION") or "us-east-1",
    )


def _first(*names: str) -> str:
    return next((value for name in names if (value := os.environ.get(name))), "").rstrip("/")
