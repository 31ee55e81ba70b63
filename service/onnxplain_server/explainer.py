"""Explainer of a server, built from its settings."""

from __future__ import annotations

from onnxplain.v1.model_pb2 import Model

from onnxplain_server.config.setting_names import SettingsError, variable_and_flag
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.request import RequestFile
from onnxplain_server.core.sources import Sources
from onnxplain_server.transport.explainer.background import Background, file_content, is_uri
from onnxplain_server.transport.explainer.explainer import Explained, Explainer
from onnxplain_server.transport.explainer.row_service import RowService


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
        Background(address, sources, min(settings.max_table_bytes, settings.max_message_bytes)),
        settings.explainer_target_column or "",
        settings.explainer_weight_column or "",
        tuple(columns.split(",")) if columns else (),
        settings.explainer_interaction_rows,
    )
    return Explainer(explained, service)


def _model(settings: Settings) -> RequestFile:
    address = settings.explainer_model
    if address is None:
        raise SettingsError(
            f"{variable_and_flag('explainer_name')} needs {variable_and_flag('explainer_model')}"
        )
    if is_uri(address):
        return RequestFile("uri", Model(uri=address).SerializeToString())
    return RequestFile("onnx", _content("explainer_model", address, "model"))


def _content(name: str, path: str, kind: str) -> bytes:
    try:
        return file_content(path, kind)
    except ExplainError as error:
        raise SettingsError(f"{variable_and_flag(name)}: {error.message}") from None
