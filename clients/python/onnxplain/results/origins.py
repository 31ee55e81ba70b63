"""Origins of an answer: files and models, rows and classes; its warnings and conclusions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, slots=True)
class ClassPairing:
    """Class of the target, and the output that scores it.

    Attributes
    ----------
    label : str
        As the target has it.
    output_name : str
        Empty for the class that the only output of a model scores against.
    """

    label: str
    output_name: str

    @classmethod
    def from_messages(
        cls, explanation: explanation_service_pb2.Explanation
    ) -> tuple[ClassPairing, ...]:
        """Read those of an explanation from the contract's form."""
        return tuple(
            cls(pairing.label, pairing.output_name) for pairing in explanation.class_pairings
        )


@dataclass(frozen=True, slots=True)
class RowsUsed:
    """Rows of the table that one result is computed on.

    Attributes
    ----------
    drawn_row_count : int
        Rows drawn for the method, of those of a weight above 0.
    used_row_count : int
        Rows that count: for FIRM on sequences, those where the sequence is not missing.
    weight : float
        Their total weight; their number where no weights are given.
    seed : int
        Seed of the draw.
    cluster_count : int
        Clusters that the used rows belong to; 0 without `cluster_column`.
    """

    drawn_row_count: int
    used_row_count: int
    weight: float
    seed: int
    cluster_count: int = 0

    @classmethod
    def from_message(cls, message: explanation_service_pb2.Explanation) -> RowsUsed | None:
        """Read it from an explanation; None where the result needs no row."""
        if not message.HasField("rows"):
            return None
        return read(cls, message.rows)

    def __str__(self) -> str:
        """Describe them in words."""
        parts = [f"{self.drawn_row_count:,} rows"]
        if self.used_row_count < self.drawn_row_count:
            parts.append(f"{self.used_row_count:,} of them used")
        if self.weight != self.used_row_count:
            parts.append(f"total weight {self.weight:,.15g}")
        if self.cluster_count:
            parts.append(f"{self.cluster_count:,} clusters")
        return f"{', '.join(parts)} (seed {self.seed})"


_DOUBT, _UNKNOWN = "DOUBT", "KIND_UNSPECIFIED"


@dataclass(frozen=True, slots=True)
class Warning:  # noqa: A001  # the contract's name; not exported, so that it shadows nothing
    """Warning about a number.

    Attributes
    ----------
    code : str
        Stable identifier, like "LABELS_ONLY".
    message : str
        Meaning and cure.
    kind : str
        What it is about: "DOUBT", "HOW_IT_WAS_MADE", or "SENTENCE" for one of the summary.
    suggested_groups : tuple of tuples of str
        Of ONE_HOT_COLUMNS: features that could count as one, as `groups` of methods take them.
    """

    code: str
    message: str
    kind: str = "DOUBT"
    suggested_groups: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def from_message(cls, message: Any) -> Warning:
        """Read it from the contract's form, whose stub mypy takes for the builtin."""
        kind = explanation_service_pb2.Warning.Kind.Name(message.kind)
        groups = tuple(tuple(group.names) for group in message.suggested_groups)
        return cls(message.code, message.message, _DOUBT if kind == _UNKNOWN else kind, groups)
