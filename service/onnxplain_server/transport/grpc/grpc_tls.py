"""TLS of the gRPC server, with certificate rotation: new connections use the newest files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import grpc


class ServerCertificates(Protocol):
    """Key and certificates in PEM; `client_ca` is None if clients need no certificate."""

    @property
    def key(self) -> bytes:
        """Private key of the server."""

    @property
    def chain(self) -> bytes:
        """Certificate chain of the server: its own certificate, then the intermediate ones."""

    @property
    def client_ca(self) -> bytes | None:
        """Certificate authorities that sign the certificates of clients."""


def server_credentials(current: Callable[[], ServerCertificates]) -> grpc.ServerCredentials:
    """Make credentials that load the certificates again for each new connection.

    Whether clients need a certificate is decided at the start.
    """
    loaded = current()

    def changed() -> grpc.ServerCertificateConfiguration | None:
        nonlocal loaded
        newest = current()
        if newest is loaded:
            return None
        loaded = newest
        return _configuration(newest)

    return grpc.dynamic_ssl_server_credentials(
        _configuration(loaded), changed, require_client_authentication=loaded.client_ca is not None
    )


def _configuration(files: ServerCertificates) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration([(files.key, files.chain)], files.client_ca)
