"""Whether requests are traced: what OpenTelemetry's own variables say, which all services share.

Where to, how often and as whom is read by OpenTelemetry itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_EXPORTERS = ("otlp", "console", "none")
_PROTOCOLS = ("http/protobuf", "grpc")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


@dataclass(frozen=True, slots=True)
class Export:
    """Where traces go.

    Attributes
    ----------
    exporter : str
        "otlp" or "console".
    protocol : str
        Of OTLP: "http/protobuf" or "grpc".
    """

    exporter: str
    protocol: str


def export(variables: Mapping[str, str]) -> Export | None:
    """Read where traces go; None where they are not wanted.

    They are wanted where an exporter or an address of OTLP is named: by themselves, OpenTelemetry's
    defaults would send to a collector on this machine that mostly is not there.

    Raises
    ------
    ValueError
        With one line that names the variable.
    """
    if variables.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    named = any(variables.get(name) for name in _ENDPOINTS)
    exporter = _one(variables, ("OTEL_TRACES_EXPORTER",), _EXPORTERS, "otlp" if named else "none")
    if exporter == "none":
        return None
    names = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    return Export(exporter, _one(variables, names, _PROTOCOLS, _PROTOCOLS[0]))


def _one(
    variables: Mapping[str, str], names: tuple[str, ...], known: tuple[str, ...], default: str
) -> str:
    for name in names:
        if value := variables.get(name, "").strip():
            if value not in known:
                raise ValueError(f"{name}: must be one of {', '.join(known)}, not {value!r}")
            return value
    return default
