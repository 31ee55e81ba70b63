"""Provenance of numbers: model, rows, classes, receipt and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from onnxplain.results.origins import RemoteModelReceipt, Source
from onnxplain.results.reading import read
from onnxplain.v1 import explanation_service_pb2, model_pb2

if TYPE_CHECKING:
    from onnxplain.results.predictions import PredictionComparison


@dataclass(frozen=True, slots=True)
class ModelInput:
    """One input of a model.

    Attributes
    ----------
    name : str
        Of the input; for models with one input per column, of the column too.
    type : str
        Element type as ONNX names it: "float", "int64", "string", ...
    width : int
        Number of columns; 0 where the model leaves it open.
    """

    name: str
    type: str
    width: int


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """Inputs and outputs of a model, read from the model itself.

    Attributes
    ----------
    digest : str
        "sha256:" and the hexadecimal digest of its bytes.
    inputs : tuple of ModelInput
        One matrix, or one input per column.
    output_names : tuple of str
        Prediction columns; `output_indices` counts among them.
    scales : tuple of str
        Those on which it can be explained: "RESPONSE", "MARGIN".
    margin_refusal : str
        Why "MARGIN" is missing; empty where it is not.
    operators : tuple of str
        Each once, sorted.
    producer : str
        Program that wrote the file, by its own name.
    has_class_scores : bool
        Whether the prediction columns score classes, so that a target names classes by default.
    feature_names : tuple of str
        In the model's order; empty where it carries no names.
    default_output_indices : tuple of int
        Positions of the outputs that a request explains if it names none.
    producer_version : str
        Its version, as the file says; empty where it says none.
    tree_count, tree_depth : int
        Trees of its tree ensembles, and the most splits between a root and a leaf; 0 without trees.
    summary : str
        What it is, as a sentence for people; empty for a remote model.
    """

    digest: str
    inputs: tuple[ModelInput, ...]
    output_names: tuple[str, ...]
    scales: tuple[str, ...]
    margin_refusal: str
    operators: tuple[str, ...]
    producer: str
    has_class_scores: bool = False
    feature_names: tuple[str, ...] = ()
    default_output_indices: tuple[int, ...] = ()
    producer_version: str = ""
    tree_count: int = 0
    tree_depth: int = 0
    summary: str = ""

    @classmethod
    def from_message(cls, message: model_pb2.ModelDescription) -> ModelDescription:
        """Read the message of the contract."""
        inputs = tuple(ModelInput(i.name, i.type, i.width) for i in message.inputs)
        return read(cls, message, inputs=inputs)


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


@dataclass(frozen=True, slots=True)
class Receipt:
    """Receipt of a request: enough to reproduce its numbers.

    Attributes
    ----------
    model_digest, table_digest : str
        "sha256:" and the hexadecimal digest of what was sent.
    seed : int
        Seed of the draw of rows.
    row_count : int
        The most rows that one of the results drew; each tells its own in `rows`.
    predicted_row_count : int
        Rows that the model predicted for this response.
    cache_hit_count, cache_miss_count : int
        Hits and misses of the cache, in numbers.
    engine, engine_reason : str
        What computed the effects, and why.
    server_version : str
    library_versions : mapping of name to version
    elapsed : timedelta
        On the server.
    prediction : tuple of str
        What was explained in place of the model's outputs; empty for these.
    model_name : str
        What titles call the model; may be empty.
    overview_methods : tuple of (str, int or None)
        Name of each method of an overview and its `row_count`, None for the method's default;
        empty where the request named methods.
    size_dependent_operators : tuple of str
        Operators of the model whose rounding may depend on how many rows a call has; empty where
        a repetition gives the same bits.
    sources : tuple of Source
        What was read for URIs, the model's first; empty without any.
    remote_model : RemoteModelReceipt or None
        Model behind an address that was asked; None for others.
    scale : str
        Scale of the predictions that were explained, "RESPONSE" or "MARGIN"; empty without a model.
    prediction_comparison : PredictionComparison or None
        The model beside `expected_prediction_columns`; None without these.
    cluster_column : str
        Column whose clusters replicates drew; empty where they drew single rows.
    request : ExplainRequest or None
        The request without model and table, as a message: what `onnxplain replay` asks again.
    processor : str
        Kind of processor that computed, like "x86_64 AVX2 FMA3".
    """

    model_digest: str
    table_digest: str
    seed: int
    row_count: int
    predicted_row_count: int
    cache_hit_count: int
    cache_miss_count: int
    engine: str
    engine_reason: str
    server_version: str
    library_versions: Mapping[str, str]
    elapsed: timedelta
    prediction: tuple[str, ...] = ()
    model_name: str = ""
    overview_methods: tuple[tuple[str, int | None], ...] = ()
    size_dependent_operators: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    remote_model: RemoteModelReceipt | None = None
    scale: str = ""
    prediction_comparison: PredictionComparison | None = None
    cluster_column: str = ""
    request: explanation_service_pb2.ExplainRequest | None = None
    processor: str = ""

    @classmethod
    def from_message(cls, message: explanation_service_pb2.Receipt) -> Receipt:
        """Read the message of the contract."""
        return read(
            cls,
            message,
            predicted_row_count=int(message.predicted_row_count),
            library_versions=dict(message.library_versions),
            elapsed=message.elapsed.ToTimedelta(),
            sources=tuple(map(Source.from_message, message.sources)),
            remote_model=RemoteModelReceipt.from_message(message.remote_model)
            if message.HasField("remote_model")
            else None,
            prediction_comparison=_comparison(message),
            request=message.request if message.HasField("request") else None,
            overview_methods=tuple(
                (m.name, m.row_count if m.HasField("row_count") else None)
                for m in message.overview_methods
            ),
        )


def _comparison(message: explanation_service_pb2.Receipt) -> PredictionComparison | None:
    # A comparison is a table, and tables tell their provenance.
    from onnxplain.results.predictions import PredictionComparison  # noqa: PLC0415

    if not message.HasField("prediction_comparison"):
        return None
    return PredictionComparison.from_message(message.prediction_comparison)


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
    """

    code: str
    message: str
    kind: str = "DOUBT"

    @classmethod
    def from_message(cls, message: Any) -> Warning:
        """Read it from the contract's form, whose stub mypy takes for the builtin."""
        kind = explanation_service_pb2.Warning.Kind.Name(message.kind)
        return cls(message.code, message.message, _DOUBT if kind == _UNKNOWN else kind)
