"""Refusal of models behind addresses that no operator lists."""

from __future__ import annotations

from onnxplain_server.core.errors import ExplainError, Reason

URI_FIELD = "model.remote.uri"


def not_listed(uri: str = "") -> ExplainError:
    """Return the REMOTE_MODEL_NOT_LISTED error.

    Parameters
    ----------
    uri : str
        Address; empty where there is no list, so that none is asked.
    """
    asked = f'a model at "{uri.rstrip("/")}"' if uri else "remote models"
    return ExplainError(
        Reason.REMOTE_MODEL_NOT_LISTED,
        f"this server may not ask {asked}: its operator lists those that it asks in the file of "
        "the setting remote_models_file. Have it listed, or send an ONNX file",
        URI_FIELD,
    )
