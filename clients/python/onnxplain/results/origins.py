"""Origins of an answer: files and models that were read or asked, and what replicates conclude."""

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


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Conclusion from numbers, and how often their replicates say the same.

    Attributes
    ----------
    kind : str
        "RANK", "STRONGEST_PAIR" or "SLOPE".
    features : tuple of str
        The feature, or the features together.
    output_name : str
    group : str
        Empty where rows are not grouped.
    rank, rank_lower, rank_upper : int
        Of "RANK": place by importance, from 1, and its interval; 0 otherwise.
    sign : int
        Of "SLOPE": 1 where the curve rises, -1 where it falls; 0 otherwise.
    replicate_share : float
        Share of the replicates with the same rank, strongest pair or sign.
    is_stable : bool
        Whether that is 95 % or more.
    """

    kind: str
    features: tuple[str, ...]
    output_name: str
    group: str
    rank: int
    rank_lower: int
    rank_upper: int
    sign: int
    replicate_share: float
    is_stable: bool

    @classmethod
    def from_messages(
        cls, explanation: explanation_service_pb2.Explanation
    ) -> tuple[Conclusion, ...]:
        """Read those of an explanation."""
        return tuple(read(cls, message) for message in explanation.conclusions)
