"""Command `start`: starts an explanation that a server computes and keeps.

It takes the flags of `explain`, but for those of the output.
"""

from __future__ import annotations

import inspect
import uuid
from functools import partial
from typing import Annotated, Any, get_type_hints

import typer
from onnxplain.transport.rpcs import DESCRIBE

from onnxplain_server.cli.backend import RemoteBackend
from onnxplain_server.cli.connection import Connection
from onnxplain_server.cli.explain import explain
from onnxplain_server.cli.failure import UsageFault, in_short
from onnxplain_server.cli.requests import methods, remote_model, request
from onnxplain_server.cli.requests.text_columns import TextColumns

COMMAND_CLASS = methods.MethodCommand

_OF_OUTPUT = {"output", "output_file", "endpoint"}

_Endpoint = Annotated[str, typer.Option(metavar="HOST:PORT", help="gRPC address of the server.")]
_RequestId = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Name of this request: an equal request with the same name starts nothing new, and "
        "prints the same operation.  [default: a random one]",
    ),
]
_Labels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="KEY=VALUE", help="Label for `operations --filter`."),
]


def start(context: typer.Context, **given: Any) -> None:
    """Start explaining MODEL on TABLE at a server; print the operation's name.

    onnxplain start model.onnx rows.csv --endpoint explain.example:8081 --label team=risk

    onnxplain wait operations/ID --endpoint explain.example:8081
    """
    connection = Connection.from_flags(given)
    typed = {"model": given["model"], "table": given["table"], "request": given["request_file"]}
    with in_short(request.names(context, typed)):
        labels = _pairs(given["label"] or [])
        message = request.build(
            remote_model.remote_model(given["model"], given) or given["model"],
            given["table"],
            given["request_file"],
            request.flags_of(given),
        )
        server = RemoteBackend(given["endpoint"], given["timeout"], connection)
        texts = TextColumns(message, partial(server.answer, DESCRIBE))
        request.add_methods(message, methods.from_context(context, texts))
        with connection.open(given["endpoint"], given["timeout"]) as client:
            started = client.messages.start(
                message, request_id=given["request_id"] or uuid.uuid4().hex, labels=labels
            )
        typer.echo(started.name)


def _pairs(texts: list[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or key in pairs:
            raise UsageFault(f"{text!r} is no KEY=VALUE, or its key stands twice", "--label")
        pairs[key] = value
    return pairs


def _use_flags_of_explain() -> None:
    """Give `start` the parameters of `explain`, for typer to read."""
    hints = get_type_hints(explain, include_extras=True)
    own = {
        "endpoint": (_Endpoint, "localhost:8081"),
        "request_id": (_RequestId, None),
        "label": (_Labels, None),
    }
    taken = [
        parameter.replace(annotation=hints[name])
        for name, parameter in inspect.signature(explain).parameters.items()
        if name not in _OF_OUTPUT
    ]
    kind = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(name, kind, default=default, annotation=hint)
        for name, (hint, default) in own.items()
    ]
    start.__signature__ = inspect.Signature([*taken, *added])  # type: ignore[attr-defined] # read by inspect
    start.__annotations__ = {each.name: each.annotation for each in (*taken, *added)}


_use_flags_of_explain()
