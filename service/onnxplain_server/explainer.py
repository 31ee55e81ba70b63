"""Explainer of a server, built from its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from onnxplain.v1.model_pb2 import Model, RemoteInput, RemoteModel
from onnxplain.v1.table_pb2 import Column

from onnxplain_server.config.setting_names import SettingsError, variable_and_flag
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.request import REMOTE_FORM, RequestFile
from onnxplain_server.core.sources import Sources
from onnxplain_server.transport.explainer.background import BackgroundTable, file_content, is_uri
from onnxplain_server.transport.explainer.explainer import Explained, Explainer
from onnxplain_server.transport.explainer.row_service import RowService

ModelOfFeatures: TypeAlias = Callable[[Sequence[Column]], RequestFile]

_PROTOCOLS: Mapping[str, tuple[Any, str]] = MappingProxyType(
    {
        "v1": (RemoteModel.KSERVE_V1, "http"),
        "v2": (RemoteModel.OIP_REST, "http"),
        "grpc-v2": (RemoteModel.OIP_GRPC, "grpc"),
    }
)
"""Protocols and schemes by KServe's names."""


def build_explainer(settings: Settings, service: RowService, sources: Sources) -> Explainer | None:
    """Make the explainer, which starts; None without its settings.

    Raises
    ------
    SettingsError
        If a file of its settings cannot be read, or it has no model.
    """
    if settings.explainer_name is None or settings.explainer_background is None:
        return None
    address = settings.explainer_background
    if not is_uri(address):
        _content("explainer_background", address, "table")
    columns = settings.explainer_feature_columns
    explained = Explained(
        settings.explainer_name,
        _model(settings),
        # A body with the background must fit beside the rows that are sent.
        BackgroundTable(
            address, sources, min(settings.max_table_bytes, settings.max_message_bytes)
        ),
        settings.explainer_target_column or "",
        settings.explainer_weight_column or "",
        tuple(columns.split(",")) if columns else (),
        settings.explainer_interaction_rows,
    )
    return Explainer(explained, service)


def _model(settings: Settings) -> ModelOfFeatures:
    """Return what names the model, by its features."""
    address = settings.explainer_model
    if address is None and settings.explainer_predictor_host is None:
        raise SettingsError(
            f"{variable_and_flag('explainer_name')} needs {variable_and_flag('explainer_model')}, "
            f"or {variable_and_flag('explainer_predictor_host')}"
        )
    if address is None:
        return partial(_remote, settings)
    if is_uri(address):
        named = RequestFile("uri", Model(uri=address).SerializeToString())
    else:
        named = RequestFile("onnx", _content("explainer_model", address, "model"))
    return lambda _features: named


def _remote(settings: Settings, features: Sequence[Column]) -> RequestFile:
    """Name the predictor; v1 tells no inputs, so they are the features of the background."""
    protocol, scheme = _PROTOCOLS[settings.explainer_predictor_protocol]
    secure = "s" if settings.explainer_predictor_use_ssl else ""
    remote = RemoteModel(
        uri=f"{scheme}{secure}://{settings.explainer_predictor_host}",
        protocol=protocol,
        name=settings.explainer_name,
        inputs=_inputs(features) if protocol == RemoteModel.KSERVE_V1 else (),
    )
    return RequestFile(REMOTE_FORM, remote.SerializeToString(deterministic=True))


def _inputs(features: Sequence[Column]) -> list[RemoteInput]:
    """Return one matrix of numbers, or one input for each column where some are text."""
    if any(column.strings for column in features):
        return [
            RemoteInput(name=column.name, type="string" if column.strings else "double")
            for column in features
        ]
    return [RemoteInput(name="instances", columns=[column.name for column in features])]


def _content(name: str, path: str, kind: str) -> bytes:
    try:
        return file_content(path, kind)
    except ExplainError as error:
        raise SettingsError(f"{variable_and_flag(name)}: {error.message}") from None
