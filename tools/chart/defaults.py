"""The defaults of settings from which the chart derives memory and times."""

from __future__ import annotations

from onnxplain_server.config.settings import Settings
from pydantic import ByteSize

# docs/operations.md, "Workers", and the time that a call may take.
USED = (
    "max_seconds",
    "running_count",
    "extra_count",
    "worker_bytes",
    "warm_bytes",
    "cache_bytes",
    "upload_bytes",
)

_TEMPLATE = """{{{{/* Written by `make chart-files` from the settings of the service. */}}}}
{{{{- define "onnxplain.defaults" -}}}}
{lines}
{{{{- end }}}}
"""


def template() -> str:
    """Write the template that holds them."""
    return _TEMPLATE.format(lines="\n".join(f"{name}: {_default(name)}" for name in USED))


def _default(name: str) -> str:
    default = Settings.model_fields[name].default
    return f"{default / 2**20:g}MiB" if isinstance(default, ByteSize) else f"{default:g}"
