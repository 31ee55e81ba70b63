"""Loading of settings from flags, environment variables, a TOML file and defaults, in this order.

The only module that reads the environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from onnxplain_server.adapters.access.urls import is_safe
from onnxplain_server.config import otel_variables, setting_file
from onnxplain_server.config.setting_names import (
    CONFIG_FILE,
    PREFIX,
    SECRETS,
    TOKEN_VARIABLE,
    SettingsError,
    flag,
    unknown,
    variable_and_flag,
)
from onnxplain_server.config.settings import Settings

NEEDS = (
    ("oidc_issuer", "oidc_audience"),
    ("oidc_audience", "oidc_issuer"),
    ("oidc_jwks_url", "oidc_issuer"),
    ("oidc_client_id", "oidc_issuer"),
    ("tls_certificate_file", "tls_key_file"),
    ("tls_key_file", "tls_certificate_file"),
    ("tls_client_ca_file", "tls_certificate_file"),
    ("explainer_name", "explainer_background"),
    ("explainer_background", "explainer_name"),
    ("explainer_model", "explainer_name"),
    ("explainer_predictor_host", "explainer_name"),
    ("explainer_target_column", "explainer_background"),
    ("explainer_weight_column", "explainer_background"),
    ("explainer_feature_columns", "explainer_background"),
)
"""Pairs of settings: the first requires the second."""

WAITING_ON_DISK = ("max_message_bytes", "max_model_bytes", "max_table_bytes", "max_response_bytes")
"""Limits of a body and of a reply, each of which must fit into `unread_disk_bytes`."""

_SERVICE_LINK = re.compile(r"_SERVICE_(HOST|PORT(_.+)?)$|_PORT(_\d+_(TCP|UDP|SCTP)(_.+)?)?$")
"""Variables that Kubernetes sets in a pod for each Service, here of names like onnxplain-grpc."""


@dataclass(frozen=True, slots=True)
class SettingValue:
    """Value of a setting, and where it comes from.

    Attributes
    ----------
    name : str
    value : object
        Parsed; None if there is none.
    source : str
        A flag, a variable, a file, or "default".
    is_secret : bool
        Whether the value must not be shown.
    """

    name: str
    value: object
    source: str
    is_secret: bool


def load_with_sources(flags: Mapping[str, object]) -> Sequence[SettingValue]:
    """Load the settings as `load` does; return each with its source.

    Raises
    ------
    SettingsError
        If one of them is invalid.
    """
    settings, file = load(flags), _from_file(flags)
    return [
        SettingValue(name, getattr(settings, name), _source(name, flags, file), name in SECRETS)
        for name in Settings.model_fields
    ]


def load(flags: Mapping[str, object]) -> Settings:
    """Load the settings: flags win over the environment, the file and defaults, in this order.

    Raises
    ------
    SettingsError
        If one of them is invalid, or a variable has the name of no setting.
    """
    _check_variables()
    values = {**_from_file(flags), **flags}
    try:
        settings = Settings(**values)
    except ValidationError as error:
        messages = (_message(item["loc"], item["msg"], item["input"]) for item in error.errors())
        raise SettingsError("; ".join(messages)) from None
    _check_together(settings)
    return settings


def token_variable() -> str | None:
    """Return the token that client commands send: the only variable that is not a setting."""
    return os.environ.get(TOKEN_VARIABLE) or None


def traces() -> otel_variables.Export | None:
    """Return the destination of traces from OpenTelemetry's variables; None if tracing is off.

    Raises
    ------
    SettingsError
        If a variable is invalid.
    """
    try:
        return otel_variables.export(os.environ)
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _source(name: str, flags: Mapping[str, object], file: Mapping[str, object]) -> str:
    if name in flags:
        return flag(name)
    variable = f"{PREFIX}{name.upper()}"
    for present in os.environ:
        if present.upper() == variable:
            return present
    if name in file:
        return str(flags.get(CONFIG_FILE) or os.environ[f"{PREFIX}{CONFIG_FILE.upper()}"])
    return "default"


def _check_variables() -> None:
    """Raise SettingsError for variables with our prefix and the name of no setting."""
    known = {TOKEN_VARIABLE, *(f"{PREFIX}{name.upper()}" for name in Settings.model_fields)}
    for name in sorted(os.environ):
        if not name.upper().startswith(PREFIX) or name.upper() in known:
            continue
        if not _SERVICE_LINK.search(name):
            raise SettingsError(unknown(name, known))


def _from_file(flags: Mapping[str, object]) -> dict[str, Any]:
    """Read the settings of the file that no variable sets."""
    file = flags.get(CONFIG_FILE) or os.environ.get(f"{PREFIX}{CONFIG_FILE.upper()}")
    if not file:
        return {}
    fields = {name: field for name, field in Settings.model_fields.items() if name != CONFIG_FILE}
    try:
        values = setting_file.read(Path(str(file)), fields, SECRETS)
    except ValueError as error:
        raise SettingsError(f"{variable_and_flag(CONFIG_FILE)}: {error}") from None
    variables = {name.upper() for name in os.environ}
    return {k: value for k, value in values.items() if f"{PREFIX}{k.upper()}" not in variables}


def _check_together(settings: Settings) -> None:
    for name, needed in NEEDS:
        if getattr(settings, name) is not None and getattr(settings, needed) is None:
            raise SettingsError(f"{variable_and_flag(name)} needs {variable_and_flag(needed)}")
    for name in WAITING_ON_DISK:
        if getattr(settings, name) > settings.unread_disk_bytes:
            raise SettingsError(
                f"{variable_and_flag('unread_disk_bytes')}: must be at least "
                f"{variable_and_flag(name)}, {getattr(settings, name):,}"
            )
    issuer = settings.oidc_issuer
    if issuer is not None and settings.oidc_jwks_url is None and not is_safe(issuer):
        raise SettingsError(
            f"{variable_and_flag('oidc_issuer')}: must be an https:// address, not {issuer!r}; or "
            f"set {variable_and_flag('oidc_jwks_url')}"
        )


def _message(location: tuple[int | str, ...], rule: str, value: object) -> str:
    name = str(location[0])
    shown = "" if name in SECRETS else f", not {value!r}"
    return f"{variable_and_flag(name)}: {rule}{shown}"
