"""Loaded models, kept between requests: each with its trees, its call size, its checked tables."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias

from cachetools import LRUCache

from onnxplain_server.adapters.onnx import OnnxModel, UntriedModelError, load, load_described
from onnxplain_server.adapters.onnx.converter_faults import converter_faults
from onnxplain_server.adapters.onnx.read import parse
from onnxplain_server.adapters.runner.consistency_sample import consistency_sample
from onnxplain_server.adapters.runner.on_workers.worker_batch_size import WorkerBatchSize
from onnxplain_server.adapters.runner.timed_model import TimedModel
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import ComputationHost
from onnxplain_server.core.model import Description, HasInputs, Scale
from onnxplain_server.core.model_limits import ModelLimits
from onnxplain_server.core.request import RequestFile
from onnxplain_server.core.rows import feeds
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.explain import BoundTable, ClassMargin, Question, TreeMemo, choose_scale
from onnxplain_server.explain.resources import WrittenModel
from onnxplain_server.telemetry.spans import current
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.forest import Forest, read_forest
from onnxplain_server.trees.reading.refusal import Refusal

_CHECKED_TABLES = 16
_NO_MARGIN = Refusal("what the model predicts is decided by neither trees nor linear scores alone")
_Key: TypeAlias = tuple[str | None, Scale, str]
"""Identity of the file, scale, and digest of the rows that the model was tried on."""

SampleOf: TypeAlias = Callable[[HasInputs], Background | None]
"""A model that was not tried to rows of the table that it is asked with; None without a table."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Loaded model with what its requests share.

    Attributes
    ----------
    file : RequestFile
    model : OnnxModel
    description : Description
    batch_size : BatchSize
    worker_batch_size : WorkerBatchSize
        Of calls that run on workers.
    forest : callable (int or None) -> Forest or Refusal
    memo : TreeMemo
    checked : LRUCache
        The model as rows of tables showed it, by their digests.
    sample : Background or None
        Rows of a table that it was tried on, where it takes no made-up ones.
    """

    file: RequestFile
    model: OnnxModel
    description: Description
    batch_size: BatchSize
    forest: Callable[[int | None], Forest | Refusal]
    memo: TreeMemo = field(default_factory=TreeMemo)
    worker_batch_size: WorkerBatchSize = field(default_factory=WorkerBatchSize)
    checked: LRUCache[str, OnnxModel] = field(default_factory=lambda: LRUCache(_CHECKED_TABLES))
    sample: Background | None = None


class LoadedModels:
    """LRU cache of loaded models. Thread-safe.

    Parameters
    ----------
    model_count : int
        Models to keep.
    limits : ModelLimits
        Complexity limits for models.
    loading : callable (host) -> context manager
        Context entered around the loading of a model.
    """

    def __init__(
        self,
        model_count: int,
        limits: ModelLimits,
        loading: Callable[[Any], AbstractContextManager[None]],
    ) -> None:
        self._models: LRUCache[tuple[str | None, Scale, str], Loaded | UntriedModelError] = (
            LRUCache(model_count)
        )
        self._limits = limits
        self._loading = loading
        self._lock = threading.Lock()

    def load(
        self,
        file: RequestFile,
        scale: Scale,
        host: ComputationHost,
        sample_of: SampleOf = lambda _model: None,
    ) -> Loaded:
        """Return a loaded model from the cache, or load it.

        Parameters
        ----------
        sample_of : SampleOf
            Rows to try a model on that takes no made-up ones.

        Raises
        ------
        UntriedModelError
            If it takes none of these either.
        """
        try:
            return self._loaded(file, scale, host, None)
        except UntriedModelError as untried:
            sample = sample_of(untried)  # raises what is wrong with the table
            if sample is None:
                raise
            return self._loaded(file, scale, host, sample)

    def load_explained(
        self,
        file: RequestFile | None,
        question: Question,
        host: ComputationHost,
        sample_of: SampleOf,
    ) -> tuple[Loaded | None, Question]:
        """Load the model of a question, if any, which then has the scale of its predictions."""
        if file is None:
            return None, question
        loaded = self.load(file, question.scale, host, sample_of)
        scales = loaded.description.scales
        scale = choose_scale(question, scales)
        if scale is not question.scale:
            loaded = self.load(file, scale, host, sample_of)
        return loaded, replace(
            question, scale=scale, is_scale_asked=True, has_margin=Scale.MARGIN in scales
        )

    def _loaded(
        self, file: RequestFile, scale: Scale, host: ComputationHost, sample: Background | None
    ) -> Loaded:
        key = (file.identity, scale, sample.digest if sample else "")
        with self._lock:
            loaded = self._models.get(key)
        if loaded is None:
            loaded = self._tried(file, scale, host, sample)
            with self._lock:
                self._models[key] = loaded
        if isinstance(loaded, UntriedModelError):
            raise loaded
        return loaded

    def _tried(
        self, file: RequestFile, scale: Scale, host: ComputationHost, sample: Background | None
    ) -> Loaded | UntriedModelError:
        rows = feeds(sample.features, sample.columns) if sample else None
        content = bytes(file.content)
        try:
            with self._loading(host):
                model, description = load_described(content, scale, self._limits, rows=rows)
        except UntriedModelError as untried:
            return untried.with_traceback(None)
        forest = _forest_reader(content, self._limits)
        return Loaded(file, model, description, BatchSize(), forest, sample=sample)

    def margin(self, loaded: Loaded, host: ComputationHost) -> ClassMargin | Refusal:
        """Return the score that decides the class: the answer itself, or the margin before it."""
        if (margin := _as_margin(loaded.model, is_answer=True)) is not None:
            return margin
        try:
            scores = self.load(loaded.file, Scale.MARGIN, host, lambda _: loaded.sample).model
        except ExplainError:
            return _NO_MARGIN
        return _as_margin(scores, is_answer=False) or _NO_MARGIN

    def written(self, loaded: Loaded, host: ComputationHost) -> WrittenModel:
        """Tell how a converter wrote a model, with the model without a fault that it repairs."""
        faults = converter_faults(bytes(loaded.file.content), self._limits)
        has_trees = loaded.description.tree_count > 0
        written = WrittenModel(faults.texts, has_trees, faults.of_missing, faults.of_thresholds)
        if not faults.repaired:
            return written
        try:
            with self._loading(host):
                repaired = load(faults.repaired, Scale.RESPONSE, self._limits)
        except ExplainError:
            return written  # repaired, it is beyond the limits
        return replace(
            written,
            repaired=TimedModel(repaired, current()),
            repaired_fault=faults.of_repaired,
        )

    def checked(self, loaded: Loaded, bound_table: BoundTable, key: str) -> Loaded:
        """Check a model's consistency on a sample of the table's rows.

        Memoized by the digest of the rows, and by `key`, which saves drawing them again.
        """
        return replace(loaded, model=self._checked_model(loaded, bound_table, key))

    def _checked_model(self, loaded: Loaded, bound_table: BoundTable, key: str) -> OnnxModel:
        with self._lock:
            if key in loaded.checked:
                return loaded.checked[key]
        try:
            sample = consistency_sample(bound_table)
        except ExplainError:
            return loaded.model  # explaining the same table raises the error with its field
        if len(sample) < 2:
            return loaded.model  # equal rows cannot show that they influence each other
        with self._lock:
            checked = loaded.checked.get(sample.digest)
        if checked is None:
            rows = feeds(bound_table.features, sample.columns)
            checked = loaded.model.rechecked(rows, sample.source)
        with self._lock:
            loaded.checked.update({name: checked for name in (sample.digest, key) if name})
        return checked


def _as_margin(model: OnnxModel, *, is_answer: bool) -> ClassMargin | None:
    """Use a model's predictions as class margins where they are sums; None otherwise."""
    trees = model.trees if isinstance(model.trees, Ensemble) else _NO_MARGIN
    if not (model.is_affine or isinstance(trees, Ensemble)):
        return None
    return ClassMargin(TimedModel(model, current()), trees, model.is_affine, is_answer)


def _forest_reader(content: bytes, limits: ModelLimits) -> Callable[[int | None], Forest | Refusal]:
    """Return a memoized reader of the model's forest."""
    return lru_cache(1)(lambda width: read_forest(parse(content, limits).model, width))
