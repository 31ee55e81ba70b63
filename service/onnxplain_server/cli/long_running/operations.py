"""Command `operations`: lists the operations of the caller, shows, cancels and deletes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from onnxplain_server.cli.connection import (
    AllowUnencryptedToken,
    CaFile,
    CertificateFile,
    Connection,
    KeyFile,
    Tls,
    TokenFile,
)
from onnxplain_server.cli.failure import UsageFault, in_short
from onnxplain_server.wire import canonical

if TYPE_CHECKING:
    from onnxplain.client import Client
    from onnxplain.operations import Operation


class Action(Enum):
    """Action on operations."""

    LIST = "list"
    GET = "get"
    CANCEL = "cancel"
    DELETE = "delete"
    PARTIALS = "partials"


# Long: typer makes one flag from each parameter.
def operations(
    action: Annotated[Action, typer.Argument(help="What to do.")] = Action.LIST,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[OPERATION]...", help="Names, for all but `list`."),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(
            "--filter",
            metavar="FILTER",
            help='Conditions joined by AND, like: state = RUNNING AND labels.team = "risk". Fields '
            "are state, done, method, request_id and labels.KEY; operators = and !=.",
        ),
    ] = None,
    endpoint: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="gRPC address of the server.")
    ] = "localhost:8081",
    timeout: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Timeout of each call.")
    ] = None,
    *,
    token_file: TokenFile = None,
    tls: Tls = False,
    ca_file: CaFile = None,
    certificate_file: CertificateFile = None,
    key_file: KeyFile = None,
    allow_unencrypted_token: AllowUnencryptedToken = False,
) -> None:
    """List your operations; or get, cancel or delete some, or print their parts.

    onnxplain operations --filter 'done = false'

    onnxplain operations cancel operations/ID
    """
    connection = Connection(
        token_file, tls, ca_file, certificate_file, key_file, allow_unencrypted_token
    )
    if (action is Action.LIST) == bool(names):
        raise UsageFault(f"{action.value} takes {'no' if names else 'at least one'} OPERATION")
    if query is not None and action is not Action.LIST:
        raise UsageFault("only `list` takes a filter", "--filter")
    with in_short(), connection.open(endpoint, timeout) as client:
        for line in _ACTIONS[action](client, names or [], query or ""):
            typer.echo(line)


def _list(client: Client, _names: list[str], query: str) -> Iterator[str]:
    yield from map(_line, client.operations(query))


def _get(client: Client, names: list[str], _query: str) -> Iterator[str]:
    for name in names:
        yield canonical.encode(client.operation(name).metadata, is_indented=True)


def _cancel(client: Client, names: list[str], _query: str) -> Iterator[str]:
    for name in names:
        client.messages.operations.cancel(name)
    yield from ()


def _delete(client: Client, names: list[str], _query: str) -> Iterator[str]:
    for name in names:
        client.messages.operations.delete(name)
    yield from ()


def _partials(client: Client, names: list[str], _query: str) -> Iterator[str]:
    for name in names:
        yield from map(canonical.encode, client.messages.operations.partials(name))


def _line(operation: Operation) -> str:
    """Return the columns of an operation, separated by tabs."""
    done, planned = operation.progress.done, operation.progress.planned
    share = f"{done / planned:.0%}" if planned else "-"
    labels = ",".join(f"{key}={value}" for key, value in sorted(operation.labels.items()))
    created = f"{operation.create_time:%Y-%m-%dT%H:%M:%SZ}"
    methods = ",".join(operation.methods) or "overview"
    return "\t".join((operation.name, operation.state, share, created, methods, labels))


_ACTIONS: dict[Action, Callable[[Client, list[str], str], Iterator[str]]] = {
    Action.LIST: _list,
    Action.GET: _get,
    Action.CANCEL: _cancel,
    Action.DELETE: _delete,
    Action.PARTIALS: _partials,
}
