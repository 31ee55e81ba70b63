"""Origins of an answer: files that were read by their URIs, and a model that was asked."""

from __future__ import annotations

from dataclasses import dataclass

from onnxplain.results.reading import read
from onnxplain.v1 import explanation_service_pb2


@dataclass(frozen=True, slots=True)
class Source:
    """File that was read where it lies.

    Attributes
    ----------
    uri : str
        Address in its canonical form.
    version : str
        Of the content, as its store names it; may be empty.
    digest : str
        "sha256:" and the hexadecimal digest of the file; empty for files of tables.
    read_byte_count : int
    resolved_uri : str
        File of an MLflow registry that the address stands for; empty for other addresses.
    """

    uri: str
    version: str
    digest: str
    read_byte_count: int
    resolved_uri: str = ""

    @classmethod
    def from_message(cls, message: explanation_service_pb2.Source) -> Source:
        """Read the message of the contract."""
        return read(cls, message, read_byte_count=int(message.read_byte_count))


@dataclass(frozen=True, slots=True)
class RemoteModelReceipt:
    """Model behind an address, as it was asked for predictions.

    Attributes
    ----------
    uri : str
        Address of its server.
    protocol : str
        How it was asked.
    name : str
        Of the model at its server.
    version : str
        That was asked for, or else that its server tells; may be empty.
    identity : str
        Under which its numbers are cached; empty where they are not.
    probe_digest : str
        "sha256:" and the hexadecimal digest of its answers to the probe rows.
    platform : str
        What runs it, as its server says; may be empty.
    """

    uri: str
    protocol: str
    name: str
    version: str
    identity: str
    probe_digest: str
    platform: str

    @classmethod
    def from_message(
        cls, message: explanation_service_pb2.RemoteModelReceipt
    ) -> RemoteModelReceipt:
        """Read the message of the contract."""
        return read(cls, message)
