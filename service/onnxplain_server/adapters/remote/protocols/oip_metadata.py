"""Metadata of models in the Open Inference Protocol: what a model takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.adapters.remote.protocols.predictions import COLUMN_LIMIT
from onnxplain_server.adapters.remote.protocols.tensors import STRINGS, TensorMetadata, input_of
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import UNTOLD, RemoteAddress

_TENSOR_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """Metadata of one model.

    Attributes
    ----------
    inputs, outputs : tuple of TensorMetadata
        Empty: the server tells none.
    version, platform : str
        Empty: unknown.
    """

    inputs: tuple[TensorMetadata, ...]
    outputs: tuple[TensorMetadata, ...]
    version: str = ""
    platform: str = ""


def inputs_of(
    address: RemoteAddress, metadata: ModelMetadata, failures: ModelFailures
) -> tuple[Input, ...]:
    """Return the inputs: stated ones, else those of the metadata, else `UNTOLD`.

    Raises
    ------
    ExplainError
        INVALID_REQUEST for such as take no rows.
    """
    if address.inputs:
        return address.inputs
    if not metadata.inputs:
        return (UNTOLD,)
    if len({tensor.name for tensor in metadata.inputs}) != len(metadata.inputs):
        raise failures.answer("has metadata with two inputs of one name")
    inputs = [_input(tensor, failures) for tensor in metadata.inputs]
    if len(inputs) == 1:
        return tuple(inputs)
    return tuple(_column(feature, failures) for feature in inputs)


def output_of(
    address: RemoteAddress, metadata: ModelMetadata, failures: ModelFailures
) -> TensorMetadata | None:
    """Return the output with the predictions; None where the server tells no output.

    Raises
    ------
    ExplainError
        INVALID_REQUEST where it is not clear which one, or where it holds labels.
    """
    outputs = {tensor.name: tensor for tensor in metadata.outputs}
    if address.output:
        # Some servers have outputs that they do not tell, as MLServer's predict_proba.
        chosen = outputs.get(address.output)
    elif len(outputs) > 1:
        raise failures.invalid("output", f"has several outputs: name one of {_listed(outputs)}")
    else:
        chosen = next(iter(outputs.values()), None)
    if chosen is not None and chosen.datatype == STRINGS:
        raise failures.invalid("output", labels_fault(chosen.name, outputs))
    return chosen


def labels_fault(name: str, outputs: Mapping[str, object]) -> str:
    """Tell that an output holds labels, and what to name in place of it."""
    others = {other: None for other in outputs if other != name}
    cure = f"one of {_listed(others)}" if others else 'such as "predict_proba", if it has one'
    return (
        f'gives labels in its output "{name}", not numbers: name an output with numbers or '
        f"probabilities in model.remote.output, {cure}"
    )


def read_tensors(entries: object, failures: ModelFailures) -> tuple[TensorMetadata, ...]:
    """Return tensors of metadata in JSON.

    Raises
    ------
    ExplainError
        REMOTE_MODEL_ANSWER.
    """
    if entries is None:
        return ()
    if not isinstance(entries, list) or len(entries) > _TENSOR_LIMIT:
        raise failures.answer("has metadata without a list of tensors")
    return tuple(_tensor(entry, failures) for entry in entries)


def _tensor(entry: Any, failures: ModelFailures) -> TensorMetadata:
    if isinstance(entry, dict):
        name, datatype = entry.get("name"), entry.get("datatype")
        shape = entry.get("shape") or []
        if isinstance(name, str) and isinstance(datatype, str) and _is_shape(shape):
            return TensorMetadata(name, datatype, tuple(shape))
    raise failures.answer("has metadata with a tensor without name, datatype or shape")


def _is_shape(shape: object) -> bool:
    return isinstance(shape, list) and all(type(size) is int for size in shape)


def _input(tensor: TensorMetadata, failures: ModelFailures) -> Input:
    found = input_of(tensor)
    if found is None or (found.width or 0) > COLUMN_LIMIT:
        raise failures.invalid(
            "inputs",
            f'takes "{tensor.name}" as {tensor.datatype} of the shape {tensor.shape}; supported '
            "are one input (rows, columns), or one input per column",
        )
    return found


def _column(feature: Input, failures: ModelFailures) -> Input:
    if feature.width not in {None, 1}:
        raise failures.invalid(
            "inputs",
            f'takes several inputs, of which "{feature.name}" has {feature.width} columns; '
            "supported are one input (rows, columns), or one input per column",
        )
    return replace(feature, width=1)


def _listed(names: Mapping[str, object] | Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in list(names)[:10])
