"""TLS of the gRPC server, with certificates that may change while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import grpc


class ServerCertificates(Protocol):
    """What TLS needs, as PEM; `client_ca` is None where clients need no certificate."""

    @property
    def key(self) -> bytes:
        """The server's private key."""

    @property
    def chain(self) -> bytes:
        """The server's certificate, and those between it and its root."""

    @property
    def client_ca(self) -> bytes | None:
        """Who signs the certificates of clients."""


def server_credentials(current: Callable[[], ServerCertificates]) -> grpc.ServerCredentials:
    """Make credentials that ask for the certificates again at each new connection.

    Whether clients need a certificate is settled at the start.
    """
    known = current()

    def changed() -> grpc.ServerCertificateConfiguration | None:
        nonlocal known
        found = current()
        if found is known:
            return None
        known = found
        return _configuration(found)

    return grpc.dynamic_ssl_server_credentials(
        _configuration(known), changed, require_client_authentication=known.client_ca is not None
    )


def _configuration(found: ServerCertificates) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration([(found.key, found.chain)], found.client_ca)
