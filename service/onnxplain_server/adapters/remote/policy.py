"""Policy of remote models: what the operator allows for calls below one address."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


def resolve_any(host: str, port: int) -> str:
    """Return the numeric address of a host, IPv4 first: for the user's own process."""
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    chosen = min(answers, key=lambda answer: answer[0] != socket.AF_INET)
    return str(chosen[4][0])


def _ignore() -> None:
    """Count nothing."""


@dataclass(frozen=True, slots=True)
class RemotePolicy:
    """Limits, credentials and addresses that the operator allows for a remote model.

    Attributes
    ----------
    call_count : int
        Most calls at a time, of all requests of this process to the same server.
    calls_per_second : float
        Most calls in any second, of all requests of this process to the same server, repeated
        calls included; may be infinite.
    row_limit : int
        Most rows of a call.
    timeout_seconds : float
        Time for one call, from the connection to the last byte of the answer.
    retry_seconds : float
        Time for one call with its repetitions, within the deadline of the request.
    answer_byte_limit : int
        Most bytes that are read of an answer.
    headers : mapping of str to str
        Sent with each call, as credentials: of HTTP, or metadata of gRPC.
    ca_file : str
        Certificates of authorities, PEM; empty: those of the system.
    resolve : callable (host, port) -> str
        Resolve a host to the numeric address to connect to; called for each connection. Raises
        ExplainError where the operator does not allow the address, OSError where there is none.
    shared_by : str
        Connections are kept for later requests whose policy has the same text here, and so allows
        the same addresses. Empty: they are this request's.
    count_call, count_retry : callable () -> None
        Called for each call that is sent, and for each repetition among them.
    """

    call_count: int = 4
    calls_per_second: float = math.inf
    row_limit: int = 2_000
    timeout_seconds: float = 30.0
    retry_seconds: float = 60.0
    answer_byte_limit: int = 2**26
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    ca_file: str = ""
    resolve: Callable[[str, int], str] = resolve_any
    shared_by: str = ""
    count_call: Callable[[], None] = _ignore
    count_retry: Callable[[], None] = _ignore
