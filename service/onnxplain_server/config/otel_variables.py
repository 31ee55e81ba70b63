"""OpenTelemetry's standard variables, as far as they turn tracing on and choose the exporter.

OpenTelemetry itself reads the endpoint, the sampling and the resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_EXPORTERS = ("otlp", "console", "none")
_PROTOCOLS = ("http/protobuf", "grpc")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


@dataclass(frozen=True, slots=True)
class Export:
    """Export of traces.

    Attributes
    ----------
    exporter : str
        "otlp" or "console".
    protocol : str
        OTLP protocol: "http/protobuf" or "grpc".
    """

    exporter: str
    protocol: str


def export(variables: Mapping[str, str]) -> Export | None:
    """Read the export of traces; None if tracing is off.

    A named exporter or OTLP endpoint turns tracing on. OpenTelemetry's defaults alone do not: they
    would send to a collector on this machine, which usually does not exist.

    Raises
    ------
    ValueError
        One line that names the variable.
    """
    if variables.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    has_endpoint = any(variables.get(name) for name in _ENDPOINTS)
    exporter = _choice(
        variables, ("OTEL_TRACES_EXPORTER",), _EXPORTERS, "otlp" if has_endpoint else "none"
    )
    if exporter == "none":
        return None
    names = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    return Export(exporter, _choice(variables, names, _PROTOCOLS, _PROTOCOLS[0]))


def _choice(
    variables: Mapping[str, str], names: tuple[str, ...], allowed: tuple[str, ...], default: str
) -> str:
    for name in names:
        if value := variables.get(name, "").strip():
            if value not in allowed:
                raise ValueError(f"{name}: must be one of {', '.join(allowed)}, not {value!r}")
            return value
    return default
