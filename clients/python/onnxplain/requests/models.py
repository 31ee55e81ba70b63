"""Conversion of models to the contract's Model; the package onnx is not needed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from onnxplain.external_data.folder import read_model
from onnxplain.remote_models import RemoteModel
from onnxplain.transport.uploads import ModelRef
from onnxplain.uris import ModelUri, is_uri
from onnxplain.v1.model_pb2 import Model


def to_model(model: Any) -> Model:
    """Write a model as a message.

    Parameters
    ----------
    model : path, URI, bytes, onnx.ModelProto, ModelUri, RemoteModel, ModelRef or Model
        A text that begins like "s3://" is an address, which the server reads. A message is
        returned as it is. Files that the model names beside it become part of it.

    Raises
    ------
    OSError
        Where the file cannot be read.
    ExplainError
        EXTERNAL_DATA where a file beside the model is missing, or does not fit.
    TypeError
        Where `model` is none of the above.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, str) and is_uri(model):
        return ModelUri(model).to_message()
    if isinstance(model, ModelUri | RemoteModel):
        return model.to_message()
    if isinstance(model, ModelRef):
        return Model(id=model.id)
    if isinstance(model, str | os.PathLike):
        return Model(content=read_model(Path(model)))
    serialize = getattr(model, "SerializeToString", None)
    if serialize or isinstance(model, bytes | bytearray | memoryview):
        return Model(content=serialize() if serialize else bytes(model))
    raise TypeError(f"cannot read a model from {type(model).__name__}: {_way(model)}")


_EXPORTS = {
    "sklearn": "skl2onnx.to_onnx(model, initial_types=...)",
    "lightgbm": "onnxmltools.convert_lightgbm(model, initial_types=...)",
    "xgboost": 'model.save_model("model.json")',
    "catboost": 'model.save_model("model.json", format="json")',
    "torch": "torch.onnx.export(model, ...)",
    "keras": 'model.export("model.onnx", format="onnx")',
}
"""How a library's models are written as files that are taken here, by its package."""
_WRITTEN = (
    ". After `pip install skl2onnx`, calls with a table in memory that has the columns of the "
    "fitted model do so themselves, and compare"
)


def library_of(model: Any) -> str:
    """Return the library of a fitted model, by its package; empty for anything else."""
    packages = (base.__module__.partition(".")[0] for base in type(model).__mro__)
    return next((package for package in packages if package in _EXPORTS), "")


def _way(model: Any) -> str:
    """Tell what to give in place of this."""
    package = library_of(model)
    if package:
        is_written = package == "sklearn"
        return (
            f"write it to a file first, by {_EXPORTS[package]}, and give that; recipes that run: "
            f"docs/export.md{_WRITTEN if is_written else ''}"
        )
    return (
        "give a path, a URI, the bytes of an ONNX file, an onnx.ModelProto, or a RemoteModel; the "
        "model comes first, then the table"
    )


def to_model_name(name: str, model: Any) -> str:
    """Return the given name, or else the name of the model's file; "" if it has none."""
    if name or not isinstance(model, str | os.PathLike | ModelRef | ModelUri | RemoteModel):
        return name
    if isinstance(model, str) and is_uri(model):
        return ModelUri(model).name
    if isinstance(model, ModelRef | ModelUri | RemoteModel):
        return model.name
    return Path(model).name
