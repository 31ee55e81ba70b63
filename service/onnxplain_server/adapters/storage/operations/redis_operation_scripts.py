"""Lua scripts of the operation store: each is one atomic transition, by the clock of Redis."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import TypeVar

from redis import Redis
from redis.commands.core import Script

from onnxplain_server.adapters.storage.redis_connection import (
    RedisConnection,
    RedisUnavailableError,
)
from onnxplain_server.adapters.storage.redis_failures import FailureKind
from onnxplain_server.core.operation_store import OperationStoreError, OperationStoreFullError
from onnxplain_server.core.operations import OperationLimits

_NAMES = (
    *("start", "get", "list", "cancel", "delete"),
    *("claim", "renew", "attach", "finish", "release", "counts"),
)

_Result = TypeVar("_Result")


class OperationScripts:
    """Runs commands and scripts; failures of Redis become OperationStoreError.

    Parameters
    ----------
    connection : RedisConnection
    prefix : str
        Of all keys.
    limits : OperationLimits
        Passed to each script.
    """

    def __init__(self, connection: RedisConnection, prefix: str, limits: OperationLimits) -> None:
        self._connection = connection
        self._prefix = prefix
        self._limits = (
            round(1000 * limits.seconds),
            round(1000 * limits.lease_seconds),
            limits.byte_count,
            limits.kept_count,
            limits.running_count,
        )
        self._texts = {name: f"{_text('common')}\n{_text(name)}" for name in _NAMES}

    def run(self, name: str, *arguments: str | float | bytes) -> object:
        """Run a script by the name of its file, and return its reply."""

        def command(redis: Redis) -> object:
            script: Script = redis.register_script(self._texts[name])
            return script(keys=[self._prefix], args=[*self._limits, *arguments])

        return self.ask(command)

    def ask(self, command: Callable[[Redis], _Result]) -> _Result:
        """Run a command."""
        try:
            return self._connection.ask(command)
        except RedisUnavailableError as error:
            kind = error.failure.kind
            if kind is FailureKind.FULL:
                raise OperationStoreFullError("Redis has no memory left") from error
            raise OperationStoreError(str(error), is_temporary=kind.value.is_temporary) from error


def checked(reply: object, kind: type[_Result]) -> _Result:
    """Return a reply of this type; a damaged connection may give any, an OperationStoreError."""
    if isinstance(reply, kind):
        return reply
    raise OperationStoreError(f"Redis answered with {type(reply).__name__}")


def _text(name: str) -> str:
    folder = files("onnxplain_server.adapters.storage.operations").joinpath("lua")
    return folder.joinpath(f"{name}.lua").read_text(encoding="utf-8")
