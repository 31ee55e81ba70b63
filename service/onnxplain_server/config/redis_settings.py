"""Redis by settings: its address, the secret that signs its values, the limits of operations."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from onnxplain_server.config.setting_names import PREFIX, SettingsError, variable_and_flag
from onnxplain_server.config.setting_types import redis_url
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.operations import OperationLimits

# A shorter secret could be guessed from one signed value.
_SECRET_BYTES = 16


def signing_secret(settings: Settings) -> bytes:
    """Return the secret that signs values in Redis.

    Raises
    ------
    SettingsError
        If there is none, or two, or one that is too short.
    """
    if (settings.cache_secret is None) == (settings.cache_secret_file is None):
        raise SettingsError(
            "ONNXPLAIN_REDIS_URL (--redis-url) needs ONNXPLAIN_CACHE_SECRET or "
            "ONNXPLAIN_CACHE_SECRET_FILE, but not both: the secret signs the values in Redis"
        )
    name, secret = "CACHE_SECRET", b""
    if settings.cache_secret is not None:
        secret = settings.cache_secret.get_secret_value().encode()
    elif settings.cache_secret_file is not None:
        name = "CACHE_SECRET_FILE"
        secret = _read_secret("cache_secret_file", settings.cache_secret_file)
    if len(secret) < _SECRET_BYTES:
        raise SettingsError(
            f"{PREFIX}{name}: the secret has {len(secret)} bytes and needs {_SECRET_BYTES}; "
            "make one with: openssl rand -hex 32"
        )
    return secret


def redis_address(settings: Settings) -> str | None:
    """Return the URL of Redis; None if there is none.

    Raises
    ------
    SettingsError
        If there are two, or an invalid one.
    """
    file_names = variable_and_flag("redis_url_file")
    if settings.redis_url is not None and settings.redis_url_file is not None:
        raise SettingsError(f"{variable_and_flag('redis_url')} and {file_names} exclude each other")
    if settings.redis_url_file is None:
        return None if settings.redis_url is None else settings.redis_url.get_secret_value()
    content = _read_secret("redis_url_file", settings.redis_url_file).decode(errors="replace")
    try:
        return redis_url(SecretStr(content)).get_secret_value()
    except ValueError as error:
        raise SettingsError(f"{file_names}: its content {error}") from None


def operation_limits(settings: Settings) -> OperationLimits:
    """Return the limits of the store of operations."""
    return OperationLimits(
        byte_count=settings.operations_bytes,
        seconds=settings.operations_seconds,
        kept_count=settings.operations_kept_count,
        running_count=settings.operations_running_count,
        lease_seconds=settings.operations_lease_seconds,
    )


def _read_secret(name: str, file: Path) -> bytes:
    """Read a file, without the line end that editors add."""
    try:
        return file.read_bytes().strip()
    except OSError as error:
        raise SettingsError(f"{PREFIX}{name.upper()}: {file}: {error.strerror}") from None
