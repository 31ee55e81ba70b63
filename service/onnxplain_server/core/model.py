"""Model interface: inputs, outputs and predictions. Protocols and data only; no ONNX runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from onnxplain_server.core.contract_limits import ModelDescription
from onnxplain_server.core.warnings import AnswerWarning, Tells

if TYPE_CHECKING:  # the serving process reads names without numpy
    from onnxplain_server.core.arrays import Array, Indices, Vector


Scale: TypeAlias = ModelDescription.Scale
"""Scale of the explained predictions: the model's answer, or the additive score before it."""


@dataclass(frozen=True, slots=True)
class Input:
    """Input of a model.

    Attributes
    ----------
    name : str
        Name of the input; in models with one input per column, also the name of the column.
    type : str
        Element type as ONNX names it: "float", "double", "int64", "bool", "string", ...
    width : int or None
        Number of columns; None if the model does not fix it.
    columns : tuple of str
        Names of the columns that the model carries, in its order; empty where it carries none.
    doubted : tuple of str
        Names that it carries in their place, but that do not tell each column.
    doubt : str
        What is wrong with these, or why there are no columns to tell; else empty.
    """

    name: str
    type: str
    width: int | None
    columns: tuple[str, ...] = ()
    doubted: tuple[str, ...] = ()
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Description:
    """Description of a model's inputs and outputs, read from the model itself.

    Attributes
    ----------
    digest : str
        "sha256:" and the hexadecimal digest of the bytes.
    inputs, output_names
        As in `Model`, on the RESPONSE scale.
    margin_refusal : str
        Why MARGIN cannot be explained; empty if it can.
    operators : tuple of str
        As "domain:Operator", or "Operator" in the default domain; each once, sorted.
    producer : str
        Name of the program that wrote the file, from the file.
    producer_version : str
        Its version, from the file; may be empty.
    tree_count, tree_depth : int
        Trees of all tree ensembles, and the most splits between a root and a leaf; 0 without trees.
    has_class_scores, is_binary : bool
        As in `Model`.
    """

    digest: str
    inputs: tuple[Input, ...]
    output_names: tuple[str, ...]
    margin_refusal: str
    operators: tuple[str, ...]
    producer: str
    has_class_scores: bool = False
    is_binary: bool = False
    producer_version: str = ""
    tree_count: int = 0
    tree_depth: int = 0

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Feature names that the model carries; empty if it carries none."""
        if len(self.inputs) == 1:
            return self.inputs[0].columns
        has_matrices = any((each.width or 1) > 1 for each in self.inputs)
        return () if has_matrices else tuple(column.name for column in self.inputs)

    @property
    def default_outputs(self) -> tuple[int, ...]:
        """Positions of the outputs that a request explains if it names none."""
        return default_outputs(len(self.output_names), is_binary=self.is_binary)

    @property
    def scales(self) -> tuple[Scale, ...]:
        """Scales on which the model can be explained."""
        return (Scale.RESPONSE,) if self.margin_refusal else (Scale.RESPONSE, Scale.MARGIN)


def default_outputs(count: int, *, is_binary: bool) -> tuple[int, ...]:
    """Return the outputs to explain by default: the second of a binary classifier, else all."""
    return (1,) if is_binary else tuple(range(count))


@dataclass(frozen=True, slots=True)
class Note:
    """Warning about a result, and what it means here.

    Attributes
    ----------
    warning : AnswerWarning
    message : str
    is_no_doubt : bool
        Whether it only tells how the answer was made, though others of its code tell a doubt.
    suggested_groups : tuple of tuples of str
        Features that could count as one.
    """

    warning: AnswerWarning
    message: str
    is_no_doubt: bool = False
    suggested_groups: tuple[tuple[str, ...], ...] = ()

    @property
    def code(self) -> str:
        """Stable code of the contract."""
        return self.warning.name

    @property
    def tells(self) -> Tells:
        """Subject of its message."""
        return Tells.HOW_IT_WAS_MADE if self.is_no_doubt else self.warning.value.tells


def distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    """Number names that are equal: "a" and "a (2)"."""
    unique: dict[str, None] = {}
    for name in names:
        number, candidate = 1, name
        while candidate in unique:
            number, candidate = number + 1, f"{name} ({number + 1})"
        unique[candidate] = None
    return tuple(unique)


def unremembered(model: Model) -> Model:
    """Return a model that is asked for each row anew, also for those that a request asked for.

    Only models that answer at an address remember rows; others are returned as they are.
    """
    asked: Model = getattr(model, "unremembered", model)
    return asked


def category_features(model: Model) -> frozenset[int]:
    """Return the features whose numbers are categories, as the graph of the model shows.

    These are looked up, or tested for equality or membership, and used in no other way: a number
    between two categories is none. Empty where the model's graph is not known.
    """
    categories: frozenset[int] = getattr(model, "categories", frozenset())
    return categories


class HasInputs(Protocol):
    """Inputs that columns of a table are bound to: of a model, also before it is tried."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Inputs: one matrix, one input per column, or several of which some are matrices."""


class Model(HasInputs, Protocol):
    """Model that predicts. Thread-safe."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the prediction columns."""

    @property
    def has_class_scores(self) -> bool:
        """Return whether the prediction columns score classes, on any scale."""

    @property
    def is_binary(self) -> bool:
        """Return whether its two prediction columns score a class and its complement."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Warnings about its predictions."""

    @property
    def roundings(self) -> Vector:
        """Relative error of a single rounding in each prediction column: (n_outputs,).

        2^-24 if computed in float32, even if returned as float64; 0 for labels.
        """

    def unused(self, n_features: int, outputs: Indices) -> frozenset[int]:
        """Return features that provably do not affect the given prediction columns.

        Parameters
        ----------
        n_features : int
            Number of feature columns.
        outputs : (n_outputs,)
            Positions of prediction columns.

        Returns
        -------
        frozenset of int
            Positions of features whose finite values never change a bit of these predictions.
            Other features may have no effect either.
        """

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        """Predict rows.

        Parameters
        ----------
        feeds : mapping of input name to (n_rows, width)
            In the dtype of each input. Buffers can be reused after the call.

        Returns
        -------
        (n_rows, n_outputs), float32 or float64
            Read-only for the caller; may contain NaN and infinity if the model returns them.

        Raises
        ------
        ExplainError
            PREDICTION_FAILED if the model cannot be evaluated.
        """

    def on_buffers(self, buffers: Mapping[str, Array]) -> Callable[[slice], Array]:
        """Return a function that predicts rows of these buffers, as they are when it is called.

        Parameters
        ----------
        buffers : mapping of input name to (n_rows, width)
            In the dtype of each input, C-contiguous. The caller rewrites them between calls.

        Returns
        -------
        callable (slice) -> (n_rows_of_slice, n_outputs)
            As `predict`, with the same bits, but for one thread at a time: the next call may
            overwrite the answer.
        """
