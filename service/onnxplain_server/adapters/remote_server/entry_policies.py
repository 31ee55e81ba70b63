"""Policies of the listed prefixes, in the process that calls: limits, credentials and addresses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from onnxplain_server.adapters.access.watched_files import FileError, WatchedFiles
from onnxplain_server.adapters.network_processes.list_file import ListError
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.adapters.remote_server.remote_list import (
    RemoteEntry,
    RemoteList,
    authorization,
    display_prefix,
)
from onnxplain_server.adapters.sources.connections.addresses import (
    ForbiddenAddressError,
    checked_addresses,
    connect,
)
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.remote.listing import URI_FIELD


class EntryPolicies:
    """Policies by entry of a list.

    Parameters
    ----------
    remotes : RemoteList

    Raises
    ------
    ListError
        If a file of credentials cannot be used. Later, its previous content stays in force.
    """

    def __init__(self, remotes: RemoteList) -> None:
        self._headers: dict[RemoteEntry, WatchedFiles[str]] = {}
        for entry in remotes.entries:
            if entry.credentials_file:
                try:
                    watched = WatchedFiles([Path(entry.credentials_file)], authorization)
                except FileError as error:
                    raise ListError(str(error)) from None
                self._headers[entry] = watched

    def policy(
        self, entry: RemoteEntry, count_call: Callable[[], None], count_retry: Callable[[], None]
    ) -> RemotePolicy:
        """Return the policy of an entry, with its present credentials."""
        watched = self._headers.get(entry)
        return RemotePolicy(
            entry.call_count,
            entry.calls_per_second,
            entry.row_limit,
            entry.timeout_seconds,
            headers={"authorization": watched.value()} if watched else {},
            ca_file=entry.ca_file,
            resolve=partial(resolve, entry),
            shared_by=display_prefix(entry),
            count_call=count_call,
            count_retry=count_retry,
        )


def resolve(entry: RemoteEntry, host: str, port: int) -> str:
    """Return the address of a host to connect to, after its check.

    Of several, the first that takes a connection.

    Raises
    ------
    ExplainError
        REMOTE_MODEL_FORBIDDEN for an address that the operator does not list.
    OSError
    """
    try:
        addresses = checked_addresses(host, port, entry.networks)
        if len({address for _, address in addresses}) == 1:
            return addresses[0][1]
        with connect(host, port, entry.networks) as connection:
            return str(connection.getpeername()[0])
    except ForbiddenAddressError as error:
        raise ExplainError(Reason.REMOTE_MODEL_FORBIDDEN, str(error), URI_FIELD) from None
