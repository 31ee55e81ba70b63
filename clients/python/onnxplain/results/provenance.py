"""Provenance of numbers: model and receipt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from onnxplain.results.origins import RemoteModelReceipt, Source
from onnxplain.results.predictions import PredictionComparison
from onnxplain.results.reading import read
from onnxplain.v1 import explanation_service_pb2, model_pb2


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
            prediction_comparison=PredictionComparison.from_message(message.prediction_comparison)
            if message.HasField("prediction_comparison")
            else None,
            request=message.request if message.HasField("request") else None,
            overview_methods=tuple(
                (m.name, m.row_count if m.HasField("row_count") else None)
                for m in message.overview_methods
            ),
        )
