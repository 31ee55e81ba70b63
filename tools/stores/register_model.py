"""Registers an ONNX file; runs where MLflow is: register_model.py URL NAME FILE [ALIAS ...].

The last line that it writes is JSON, with the `version` of the registered model.
"""

from __future__ import annotations

import json
import sys

import mlflow
import onnx


def main() -> None:
    """Log the model in a run of its own, register it, and give the version its aliases."""
    url, name, file, *aliases = sys.argv[1:]
    mlflow.set_tracking_uri(url)
    with mlflow.start_run():
        logged = mlflow.onnx.log_model(onnx.load(file), name="model", registered_model_name=name)
    version = logged.registered_model_version
    for alias in aliases:
        mlflow.MlflowClient().set_registered_model_alias(name, alias, version)
    sys.stdout.write(f"\n{json.dumps({'version': int(version)})}\n")


if __name__ == "__main__":
    main()
