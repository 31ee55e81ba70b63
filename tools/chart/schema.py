"""The part of the schema of the values that the settings of the service tell."""

from __future__ import annotations

import json
from typing import Any

from onnxplain_server.config.loading import NEEDS
from onnxplain_server.config.settings import Settings

# Values of their own name these: ports, files and secrets.
OF_THE_CHART = frozenset(
    {
        "cache_secret",
        "cache_secret_file",
        "config_file",
        "dask_ca_file",
        "dask_certificate_file",
        "dask_key_file",
        "grpc_port",
        "host",
        "metrics_port",
        "redis_url",
        "redis_url_file",
        "remote_models_file",
        "rest_host",
        "rest_port",
        "sources_file",
        "tls_certificate_file",
        "tls_client_ca_file",
        "tls_key_file",
        "tokens_file",
    }
)

# What pydantic takes for a size, but for units that nobody means, like bits. It knows no "Mi", as
# Kubernetes writes it.
_SIZE = r"^[0-9]*\.?[0-9]+ ?([KMGT]?B?|[KMGT]iB)$"

_KEPT = ("description", "type", "enum", "pattern", "format", "minLength", "items")
_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def with_settings(schema: str) -> str:
    """Return the schema with what may stand under `settings`."""
    values = json.loads(schema)
    values["properties"]["settings"] = settings()
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def settings() -> dict[str, Any]:
    """Return the schema of `settings`: what the service knows, and nothing else."""
    known = Settings.model_json_schema()["properties"]
    chosen = {name: _one(one) for name, one in known.items() if name not in OF_THE_CHART}
    needed = [(name, other) for name, other in NEEDS if {name, other} <= chosen.keys()]
    return {
        "$comment": "Written by `make chart-files` from the settings of the service.",
        "type": "object",
        "additionalProperties": False,
        "dependentRequired": {name: [other] for name, other in needed},
        "properties": chosen,
    }


def _one(field: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of one setting, in the few words that Helm tells well."""
    variants = [one for one in field.get("anyOf", [field]) if one.get("type") != "null"]
    if len(variants) > 1:
        # The only one that can be given in two ways is a size.
        limits = {
            name: field[key] for key, name in (("ge", "minimum"), ("le", "maximum")) if key in field
        }
        size = {"type": ["integer", "string"], "pattern": _SIZE, "minimum": 0} | limits
        return {"description": field["description"]} | size
    merged = variants[0] | field
    return {name: merged[name] for name in (*_KEPT, *_LIMITS) if name in merged}
