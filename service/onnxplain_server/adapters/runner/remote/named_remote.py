"""Reader of remote models: the contract's `RemoteModel` as an address, after its checks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from google.protobuf.message import DecodeError
from onnxplain.v1 import model_pb2

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import RemoteAddress
from onnxplain_server.core.request import REMOTE_FORM
from onnxplain_server.core.rows import INPUT_TYPES
from onnxplain_server.core.table import listed

_MOST_LETTERS = 2_048
_SCHEMES = {"OIP_GRPC": ("grpc", "grpcs")}
_WEB_SCHEMES = ("http", "https")
_TELLS_NOTHING = ("KSERVE_V1", "MLFLOW")
"""Protocols without metadata of what a model takes."""
_URI = re.compile(r"([a-z]+)://([^/?#@\s\\]+)(/[^?#\s\\]*)?")


@dataclass(frozen=True, slots=True)
class NamedRemote:
    """Remote model that a request names.

    Attributes
    ----------
    address : RemoteAddress
    identity : str
        What the caller vouches for, or else the version; empty: nothing may be cached.
    """

    address: RemoteAddress
    identity: str


def remote_model(message: model_pb2.Model, blobs: Blobs) -> NamedRemote | None:
    """Return the remote model of a request; None where it has another one.

    Parameters
    ----------
    message : Model
    blobs : Blobs
        One of them where the message was split: transports name a remote model as a file.

    Raises
    ------
    ExplainError
        INVALID_REQUEST.
    """
    if message.HasField("remote"):
        if message.sha256:
            raise _invalid("model.sha256 pins what model.uri names; leave it out", "model.sha256")
        return _read(message.remote)
    blob = blobs.get(message.id)
    if blob is None or blob.form != REMOTE_FORM:
        return None
    try:
        return _read(model_pb2.RemoteModel.FromString(bytes(blob.content)))
    except DecodeError:
        raise _invalid("the message cannot be decoded as RemoteModel", "model.remote") from None


def _read(message: model_pb2.RemoteModel) -> NamedRemote:
    protocol = _protocol(message)
    if not message.name and protocol != "MLFLOW":
        raise _invalid(f"{protocol} needs the name of the model at its server", "model.remote.name")
    if not message.inputs and protocol in _TELLS_NOTHING:
        raise _invalid(
            f"a server of {protocol} does not tell what its model takes; list its inputs",
            "model.remote.inputs",
        )
    _check_distinct(message.output_names, "model.remote.output_names")
    _check_distinct([each.name for each in message.inputs], "model.remote.inputs")
    address = RemoteAddress(
        protocol,
        _uri(message.uri, protocol),
        message.name,
        message.version,
        tuple(_input(each, i) for i, each in enumerate(message.inputs)),
        message.output,
        tuple(message.output_names),
    )
    return NamedRemote(address, message.identity or message.version)


def _protocol(message: model_pb2.RemoteModel) -> str:
    protocols = model_pb2.RemoteModel.Protocol
    known = [name for name, number in protocols.items() if number]
    if message.protocol not in protocols.values() or not message.protocol:
        raise _invalid(
            f"tell how the server is asked: one of {', '.join(known)}", "model.remote.protocol"
        )
    return str(protocols.Name(message.protocol))


def _uri(uri: str, protocol: str) -> str:
    """Return the address without a slash at its end."""
    schemes, field = _SCHEMES.get(protocol, _WEB_SCHEMES), "model.remote.uri"
    match = _URI.fullmatch(uri)
    if match is None or len(uri) > _MOST_LETTERS or match[1] not in schemes:
        raise _invalid(
            f"{uri[:200]!r} is no address for {protocol}: {schemes[0]}://HOST:PORT or "
            f"{schemes[1]}://..., without user, query and fragment, of at most "
            f"{_MOST_LETTERS:,} letters",
            field,
        )
    if protocol == "OIP_GRPC" and match[3] not in {None, "/"}:
        raise _invalid("an address of OIP_GRPC has no path", field)
    return uri.rstrip("/")


def _input(message: model_pb2.RemoteInput, position: int) -> Input:
    field = f"model.remote.inputs[{position}]"
    if not message.name:
        raise _invalid("an input needs its name", f"{field}.name")
    kind = message.type or "double"
    if kind not in INPUT_TYPES:
        raise _invalid(f"{kind!r} is no type; types are {listed(INPUT_TYPES)}", f"{field}.type")
    columns = tuple(message.columns)
    _check_distinct(columns, f"{field}.columns")
    return Input(message.name, kind, len(columns) or 1, columns)


def _check_distinct(names: Sequence[str], field: str) -> None:
    repeated = tuple(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise _invalid(f"{listed(repeated)} stand twice; name each once", field)


def _invalid(message: str, field: str) -> ExplainError:
    return ExplainError(Reason.INVALID_REQUEST, message, field)
