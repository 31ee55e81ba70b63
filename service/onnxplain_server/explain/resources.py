"""Resources of a computation: host, threads, learned batch size, readers of the model's trees."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnxplain_server.additive.kernel_model import KernelModel
from onnxplain_server.additive.model import AdditiveModel
from onnxplain_server.core.interfaces import ComputationHost
from onnxplain_server.core.model import Model
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.layers.model import FirstLayers
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.explain.explanation import PartialExplanation
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.forest import Forest
from onnxplain_server.trees.reading.links import Trees
from onnxplain_server.trees.reading.refusal import Refusal
from onnxplain_server.trees.tree_memo import TreeMemo

if TYPE_CHECKING:
    from onnxplain_server.explain.streaming.streamed_rows import StreamedRows


def _no_trees(_width: int | None) -> Refusal:
    return Refusal("the model has no trees")


def _no_terms() -> Refusal:
    return Refusal("the model is not known by its parts")


def _no_layers() -> FirstLayers | Refusal:
    return Refusal("the model is not known by its parts")


def _no_margin() -> Refusal:
    return Refusal("the model is not known by its parts")


@dataclass(frozen=True, slots=True, eq=False)
class ClassMargin:
    """Class scores of a model: its outputs where these are sums, or else the scores before a link.

    Attributes
    ----------
    model : Model
        Predicts the scores.
    trees : Ensemble or Refusal
        The trees that the scores are sums of.
    is_affine : bool
        Whether each score is an affine function of the features.
    is_answer : bool
        Whether the scores are the model's outputs.
    """

    model: Model
    trees: Ensemble | Refusal
    is_affine: bool
    is_answer: bool


@dataclass(frozen=True, slots=True, eq=False)
class WrittenModel:
    """Marks of a converter in the file of a model; sentences about its faults may be empty.

    Attributes
    ----------
    texts : frozenset of str
        Categories of its encoders.
    has_trees : bool
        Whether it has trees, which compare values with thresholds.
    missing_fault : str
        Known fault of the converter that changes predictions of rows with missing values.
    threshold_fault : str
        The same for values at a threshold.
    repaired : Model or None
        The model without another known fault.
    repaired_fault : str
        That fault.
    """

    texts: frozenset[str] = frozenset()
    has_trees: bool = False
    missing_fault: str = ""
    threshold_fault: str = ""
    repaired: Model | None = None
    repaired_fault: str = ""


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of one computation, given to it from outside.

    Attributes
    ----------
    host : ComputationHost
    batch_size : BatchSize
        Call size learned for the model.
    threads : ThreadPoolExecutor
    call_threads : ThreadPoolExecutor or None
        Threads for calls of the model, where these run elsewhere; by default, `threads`.
    trees : callable () -> Ensemble, EnsembleWithLinear, LinkedEnsemble or Refusal
        Reads the trees of the model, or says why they cannot be read.
    forest : callable (int or None) -> Forest or Refusal
        Reads the trees alone, whatever the model computes from their sums; takes the number of
        columns where the model does not tell it.
    margin : callable () -> ClassMargin or Refusal
        Reads the class scores.
    surrogate_seconds : float
        Time of predictions beyond which interactions are estimated by the engine SURROGATE, where
        a request leaves the engine open; 0: never.
    additive : callable () -> AdditiveModel, KernelModel or Refusal
        Reads the model as a link of sums of terms, or of kernels, or says why it is none.
    first_layers : callable () -> FirstLayers or Refusal
        Reads the first layers of the model, or says why there are none.
    written : callable () -> WrittenModel
        Reads how the model was written.
    row_seconds : callable () -> float, or None
        Seconds of a prediction, by the size of the model and without a clock; None where only an
        address of it is known.
    memo : TreeMemo
        Shared by all requests on the loaded model.
    request_key : str
        Equal for equal requests on equal tables only; empty where that is not known.
    black_box : callable (Predictor, Background, str) -> BlackBox
        Makes the black-box engine: the real one, or its rehearsal.
    publish : callable (PartialExplanation) -> None, or None
        Takes parts of the answer on the way; None where nobody asked for them.
    streamed : StreamedRows or None
        All rows of a table that is too large for memory; the table of the request is then a sample.
    """

    host: ComputationHost
    batch_size: BatchSize
    threads: ThreadPoolExecutor
    trees: Callable[[], Trees | Refusal]
    forest: Callable[[int | None], Forest | Refusal] = _no_trees
    margin: Callable[[], ClassMargin | Refusal] = _no_margin
    memo: TreeMemo = field(default_factory=TreeMemo)
    request_key: str = ""
    black_box: Callable[[Predictor, Background, str], BlackBox] = BlackBox
    publish: Callable[[PartialExplanation], None] | None = None
    streamed: StreamedRows | None = None
    call_threads: ThreadPoolExecutor | None = None
    row_seconds: Callable[[], float] | None = None
    written: Callable[[], WrittenModel] = WrittenModel
    surrogate_seconds: float = 0.0
    additive: Callable[[], AdditiveModel | KernelModel | Refusal] = _no_terms
    first_layers: Callable[[], FirstLayers | Refusal] = _no_layers

    @property
    def predicting(self) -> ThreadPoolExecutor:
        """Threads that call the model."""
        return self.call_threads or self.threads
