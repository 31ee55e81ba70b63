"""Models of an MLflow registry, by its REST API: a name with a version or an alias to a file.

mlflow-skinny does the same, and follows any location that the registry names, with redirects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import yaml

from onnxplain_server.adapters.sources.canonical_uri import CanonicalUri, canonical
from onnxplain_server.adapters.sources.connections.web import WebServer
from onnxplain_server.core.errors import ExplainError, Reason

_API = "/api/2.0/mlflow"
_ARTIFACTS = "/api/2.0/mlflow-artifacts/artifacts"
_ANSWER_BYTES = 2**20
_PROXIED = re.compile(r"mlflow-artifacts:(?://[^/]*)?/(.+)")
_FILES = {"onnx": "model.onnx", "xgboost": "model.xgb", "lightgbm": "model.lgb"}
"""Flavors whose file is a model here, the best one first, and the file's usual name."""
_LOGGED_MODEL = re.compile(r"models:/(m-[0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class RegisteredModel:
    """Model version of a registry, and where its files are.

    Attributes
    ----------
    uri : CanonicalUri
    version : str
        Number of the version.
    location : str
        Address of the folder of its artifacts, as the registry names it.
    """

    uri: CanonicalUri
    version: str
    location: str


class Registry:
    """Registry at an endpoint.

    Parameters
    ----------
    server : WebServer
    base_path : str
        Path of the endpoint.
    field : str
        Field of the request, for errors.
    """

    def __init__(self, server: WebServer, base_path: str, field: str) -> None:
        self._server = server
        self._base = base_path
        self._field = field

    def find(self, uri: CanonicalUri) -> RegisteredModel:
        """Return the version of a model that a name with a version or an alias means."""
        name, alias = uri.path, ""
        if "@" in name:
            name, _, alias = name.partition("@")
            answer = self._ask(uri, "registered-models/alias", name=name, alias=alias)
            version = _text(answer, "model_version", "version")
        else:
            name, _, version = name.partition("/")
        answer = self._ask(uri, "model-versions/get-download-uri", name=name, version=version)
        location = _text(answer, "artifact_uri")
        if logged := _LOGGED_MODEL.fullmatch(location):
            answer = self._ask(uri, f"logged-models/{logged[1]}")
            location = _text(answer, "model", "info", "artifact_uri")
        if not version or not location:
            raise self._unusable(uri, "the registry's answer is incomplete")
        return RegisteredModel(uri, version, location)

    def proxied(self, model: RegisteredModel, name: str) -> str | None:
        """Return the path of an artifact at the registry's proxy; None where it lies elsewhere."""
        match = _PROXIED.fullmatch(model.location)
        if match is None:
            return None
        path = canonical(f"https://proxy/{quote(f'{match[1]}/{name}')}", self._field).path
        return f"{self._base}{_ARTIFACTS}/{quote(path)}"

    def read_proxied(self, model: RegisteredModel, path: str, byte_limit: int) -> bytes:
        """Read an artifact from the registry's proxy."""
        return self._server.get(path, str(model.uri), byte_limit)

    def model_file(self, model: RegisteredModel, description: bytes) -> str:
        """Return the name of the model's file that a file MLmodel tells of."""
        try:
            document = yaml.safe_load(description)
        except (yaml.YAMLError, UnicodeDecodeError):
            document = None
        flavors = document.get("flavors") if isinstance(document, dict) else None
        flavors = flavors if isinstance(flavors, dict) else {}
        name = next((name for name in _FILES if isinstance(flavors.get(name), dict)), None)
        if name is None:
            listed = ", ".join(map(str, flavors)) or "none"
            *others, last = _FILES
            known = f"{', '.join(others)} or {last}"
            raise self._unusable(
                model.uri,
                f"it has no flavor {known} (but {listed}): log it by mlflow.onnx.log_model",
            )
        file = flavors[name].get("data", _FILES[name])
        if not isinstance(file, str):
            raise self._unusable(model.uri, f"its file MLmodel names no file of the flavor {name}")
        return file

    def _ask(self, uri: CanonicalUri, call: str, **arguments: str) -> Mapping[str, Any]:
        query = "&".join(f"{key}={quote(value, safe='')}" for key, value in arguments.items())
        target = f"{self._base}{_API}/{call}" + (f"?{query}" if query else "")
        try:
            answer = json.loads(self._server.get(target, str(uri), _ANSWER_BYTES))
        except ValueError:
            raise self._unusable(uri, "the registry's answer is no JSON") from None
        if not isinstance(answer, dict):
            raise self._unusable(uri, "the registry's answer is no object")
        return answer

    def _unusable(self, uri: CanonicalUri, fault: str) -> ExplainError:
        return ExplainError(
            Reason.SOURCE_FORBIDDEN, f'"{uri}" cannot be used: {fault}', self._field
        )


def _text(answer: Mapping[str, Any], *keys: str) -> str:
    value: Any = answer
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
