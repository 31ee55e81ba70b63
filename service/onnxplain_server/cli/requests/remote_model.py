"""Flags of a model behind an address, which is asked for predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import typer
from onnxplain.enumerations.values import value_name
from onnxplain.v1.model_pb2 import Model, RemoteInput, RemoteModel

from onnxplain_server.cli.failure import UsageFault
from onnxplain_server.cli.requests.parsers import names_of
from onnxplain_server.cli.requests.request import split

_PROTOCOLS = [name.lower().replace("_", "-") for name in names_of(RemoteModel.Protocol)]
_FLAG = "--remote-protocol"


def _protocol(text: str) -> str:
    name = value_name(text, RemoteModel.Protocol.DESCRIPTOR)
    if name is None:
        raise UsageFault(f"{text!r} is not one of {', '.join(_PROTOCOLS)}", _FLAG)
    return name


RemoteProtocol: TypeAlias = Annotated[
    str | None,
    typer.Option(
        parser=_protocol,
        metavar="|".join(_PROTOCOLS),
        help="MODEL is the address of a server of models, which is asked this way: "
        "http://HOST:PORT, https://..., for oip-grpc grpc://HOST:PORT or grpcs://...",
    ),
]
RemoteName: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Name of the model at its server.")
]
RemoteVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="VERSION",
        help="Version of the model at its server.  [default: the server's choice]",
    ),
]
RemoteInputs: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[:TYPE],...",
        help="Columns that the model takes, with types like float, double, int64, bool, string.  "
        "[default: what its server tells, else the table in one matrix; double]",
    ),
]
RemoteMatrix: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Name of one input that takes all of --remote-inputs as its columns."
    ),
]
RemoteOutput: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Tensor, or field of the answer, with the predictions.  [default: the only one]",
    ),
]
RemoteOutputNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME,...", help="Names of the prediction columns, as of classes."),
]
RemoteIdentity: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="What you vouch for: under an equal text, the model is the same, and a server caches "
        "its numbers.  [default: --remote-version; without both, nothing is cached]",
    ),
]

_FLAGS = (
    *("remote_name", "remote_version", "remote_inputs", "remote_matrix", "remote_output"),
    *("remote_output_names", "remote_identity"),
)


def remote_model(address: str | None, given: Mapping[str, Any]) -> Model | None:
    """Return the remote model that flags of a command name; None where they name none.

    Raises
    ------
    UsageFault
        For a flag without `--remote-protocol`, and `--remote-protocol` without an address.
    """
    if given["remote_protocol"] is None:
        for flag in _FLAGS:
            if given[flag]:
                name = f"--{flag.replace('_', '-')}"
                raise UsageFault(f"{name} needs {_FLAG}, which tells how the model is asked", name)
        return None
    if address is None:
        raise UsageFault(f"{_FLAG} needs MODEL, the address of a server of models", _FLAG)
    return Model(
        remote=RemoteModel(
            uri=address,
            protocol=given["remote_protocol"],
            name=given["remote_name"],
            version=given["remote_version"],
            inputs=_inputs(split(given["remote_inputs"] or []), given["remote_matrix"]),
            output=given["remote_output"],
            output_names=split(given["remote_output_names"] or []),
            identity=given["remote_identity"],
        )
    )


def _inputs(texts: Sequence[str], matrix: str | None) -> list[RemoteInput]:
    pairs = [text.partition(":")[::2] for text in texts]
    if matrix is None:
        return [RemoteInput(name=name, type=kind) for name, kind in pairs]
    kinds = {kind for _, kind in pairs}
    if len(kinds) != 1:
        raise UsageFault(
            "one input has columns, all of one type: --remote-inputs", "--remote-matrix"
        )
    return [RemoteInput(name=matrix, type=kinds.pop(), columns=[name for name, _ in pairs])]
