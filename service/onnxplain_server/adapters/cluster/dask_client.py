"""Connection to a Dask cluster by the address of its scheduler."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from distributed import Client
from distributed.comm.core import connect as open_comm
from distributed.security import Security

from onnxplain_server.adapters.cluster.dask_words import with_cause
from onnxplain_server.adapters.cluster.dask_workers import DaskWorkers
from onnxplain_server.core.errors import ExplainError, Reason

_REACH_SECONDS = 5.0
"""Time limit for reaching the address at all, and for a first handshake with the scheduler.

Dask would try again for longer, and say nothing.
"""
_CONNECT_SECONDS = 30.0
"""Time limit for the connection, and for the next one after it was lost."""


@contextmanager
def connected(address: str, tls_files: Sequence[Path] = ()) -> Iterator[DaskWorkers]:
    """Connect to a scheduler.

    Parameters
    ----------
    address : str
        With its scheme: tcp:// or tls://.
    tls_files : sequence of Path
        Certificate authorities, certificate and key; none without TLS.

    Raises
    ------
    ExplainError
        UNAVAILABLE where it does not answer; INVALID_OPTION for files that cannot be used.
    """
    client = connect(address, tls_files)
    try:
        yield DaskWorkers(client)
    finally:
        client.close(timeout=1)


def connect(address: str, tls_files: Sequence[Path] = ()) -> Client:
    """Return a client, which its owner closes; arguments and errors are those of `connected`."""
    try:
        _check_reachable(address)
        security = _security(tls_files)
        asyncio.run(_check_scheduler(address, security or Security()))
        return Client(
            address,
            timeout=_CONNECT_SECONDS,
            security=security,
            set_as_default=False,
            # Of the cluster, one comes: the scheduler, which may be all that is reachable.
            direct_to_workers=False,
        )
    except (OSError, ValueError) as error:
        raise ExplainError(
            Reason.UNAVAILABLE,
            with_cause("the Dask scheduler cannot be reached", f"{address}: {error}"),
        ) from None


def _check_reachable(address: str) -> None:
    """Raise OSError where nobody listens at an address."""
    host, _, port = address.partition("://")[2].rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), _REACH_SECONDS):
        pass


async def _check_scheduler(address: str, security: Security) -> None:
    """Raise UNAVAILABLE where what listens at an address is no scheduler, or not by this TLS."""
    given = security.get_connection_args("client")
    try:
        # Dask bounds the connection, and not the handshake behind it.
        comm = await asyncio.wait_for(open_comm(address, **given), _REACH_SECONDS)
    except Exception as error:  # noqa: BLE001 - of anything that another program may send
        message = "what listens at the address of the Dask scheduler does not answer as one"
        cause = str(error) or f"no answer within {_REACH_SECONDS:g} s"
        raise ExplainError(Reason.UNAVAILABLE, with_cause(message, f"{address}: {cause}")) from None
    await comm.close()


def _security(tls_files: Sequence[Path]) -> Security | None:
    if not tls_files:
        return None
    ca_file, certificate_file, key_file = map(str, tls_files)
    return Security(
        tls_ca_file=ca_file,
        tls_client_cert=certificate_file,
        tls_client_key=key_file,
        require_encryption=True,
    )
