"""A model, as far as explanations are concerned: it takes columns and gives predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from onnxplain_server.core.arrays import Array, Indices, Vector


class Scale(Enum):
    """What is explained: the model's answer, or the additive score before it."""

    RESPONSE = "RESPONSE"
    MARGIN = "MARGIN"


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a model.

    Attributes
    ----------
    name : str
        Name of the input; for models with one input per column, of the column too.
    type : str
        Element type as ONNX names it: "float", "double", "int64", "bool", "string", ...
    width : int or None
        Number of columns; None where the model leaves it open.
    columns : tuple of str
        Names of the columns that the model carries, in its order; empty where it carries none.
    """

    name: str
    type: str
    width: int | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Description:
    """What a model takes and gives, read from the model itself.

    Attributes
    ----------
    digest : str
        "sha256:" and the hexadecimal digest of the bytes.
    inputs, output_names
        As in `Model`, on the RESPONSE scale.
    margin_refusal : str
        Why MARGIN cannot be explained; empty where it can.
    operators : tuple of str
        As "domain:Operator", or "Operator" in the default domain; each once, sorted.
    producer : str
        Program that wrote the file, as it says itself.
    has_class_scores : bool
        As in `Model`.
    """

    digest: str
    inputs: tuple[Input, ...]
    output_names: tuple[str, ...]
    margin_refusal: str
    operators: tuple[str, ...]
    producer: str
    has_class_scores: bool = False

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features that the model carries; empty where it carries none."""
        if len(self.inputs) == 1:
            return self.inputs[0].columns
        return tuple(taken.name for taken in self.inputs)

    @property
    def scales(self) -> tuple[Scale, ...]:
        """Scales on which the model can be explained."""
        return (Scale.RESPONSE,) if self.margin_refusal else (Scale.RESPONSE, Scale.MARGIN)


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know before trusting a number: a stable code and what it means here."""

    code: str
    message: str


class Model(Protocol):
    """Something that predicts. Calls from several threads at once are allowed."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What it takes: one matrix, or one input per column."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of its prediction columns."""

    @property
    def has_class_scores(self) -> bool:
        """Whether its prediction columns score classes, on whatever scale."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What to know before trusting its predictions."""

    @property
    def roundings(self) -> Vector:
        """Relative error of a single rounding in each prediction column: (n_outputs,).

        2^-24 for what is computed in float32, even if it is given as float64; 0 for labels.
        """

    def unused(self, n_features: int, outputs: Indices) -> frozenset[int]:
        """Features that certainly change nothing in some of the prediction columns.

        Parameters
        ----------
        n_features : int
            Columns that it is fed.
        outputs : (n_outputs,)
            Positions of prediction columns.

        Returns
        -------
        frozenset of int
            Positions of features whose finite values, whatever they are, leave these predictions
            as they are to the last bit. More features may in fact have no effect.
        """

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        """Predict rows.

        Parameters
        ----------
        feeds : mapping of input name to (n_rows, width)
            In the dtype of each input. Not kept after the call, so buffers can be reused.

        Returns
        -------
        (n_rows, n_outputs), float32 or float64
            May be overwritten by nobody; not finite where the model's answer is not.

        Raises
        ------
        ExplainError
            PREDICTION_FAILED where the model cannot be evaluated.
        """
