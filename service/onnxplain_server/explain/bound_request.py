"""A request bound to its model and table; each derived part is computed at its first use.

A method that reads only the model, or only a column, never binds the table's features, draws no
rows and chooses no engine. A missing model or table is refused when a method reads it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.core.messages.missing_parts import missing_model, missing_table
from onnxplain_server.core.model import Model
from onnxplain_server.core.row_draws import draw
from onnxplain_server.core.rows import Features
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.effects.engine import Effects
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.explain.class_labels import check_labels
from onnxplain_server.explain.engines.engine_choice import EngineChoice, choose_engine
from onnxplain_server.explain.engines.streaming_choice import stream
from onnxplain_server.explain.engines.unused import unused_told
from onnxplain_server.explain.output_choice import explained_outputs
from onnxplain_server.explain.prediction.expressions import read_predictions
from onnxplain_server.explain.prediction.model import PredictionModel
from onnxplain_server.explain.question import Engine, Question
from onnxplain_server.explain.resources import ClassMargin, Resources
from onnxplain_server.explain.sample import BoundTable, Sample, take_sample
from onnxplain_server.explain.single_flight_host import SingleFlightHost
from onnxplain_server.explain.without_model import check_without_model
from onnxplain_server.methods.classes import Outputs
from onnxplain_server.telemetry.spans import span
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.reading.forest import Forest
from onnxplain_server.trees.reading.refusal import Refusal
from onnxplain_server.trees.streaming.engine import StreamedTrees

_OF_ROWS = ("sample", "background", "effects", "sampled_outputs", "tabular_choice")
_OF_LEDGER = ("predictor", "unplanned", "block_pool", "streamed_trees")
_OF_ENGINE = ("streamed_trees", *_OF_ROWS[2:])
_OF_OUTPUTS = ("output_indices", "outputs", *_OF_ENGINE)
"""Properties that depend on the rows drawn; that report to the ledger; that depend on the engine;
on the outputs explained."""
_SAMPLED_ROWS = 200
"""Rows on which the rounding errors of predictions are measured."""


class BoundRequest:
    """Model, table, question and resources of one request, and all that derives from them.

    Parameters
    ----------
    model, bound_table
        None if the request has none.
    question : Question
    resources : Resources
    rows_once : bool
        Whether all methods predict each row once: all rows are then used, equal ones unmerged.

    Raises
    ------
    ExplainError
        INVALID_OPTION if the question sets what applies to a model only, and there is none.

    Attributes
    ----------
    ledger : Ledger
        Rows planned and predicted, cache hits and misses.
    choice : EngineChoice or None
        The engine, once a method has needed one.
    is_model_used : bool
        Whether a method has read the model.
    estimated_because : str
        Why the engine SURROGATE was chosen, where the request leaves the engine open.
    """

    def __init__(
        self,
        model: Model | None,
        bound_table: BoundTable | None,
        question: Question,
        resources: Resources,
        *,
        rows_once: bool,
    ) -> None:
        if model is None:
            check_without_model(question)
        self.host = SingleFlightHost(resources.host)
        self.resources = replace(resources, host=self.host)
        self.ledger = Ledger(self.host)
        self.question = question
        self.choice: EngineChoice | None = None
        self.is_model_used = False
        self.estimated_because = ""
        self.given_model = model
        self.given_table = bound_table.table if bound_table else None
        self._given_bound_table = bound_table
        self._rows_once = rows_once

    def with_row_count(self, row_count: int) -> BoundRequest:
        """Return the request with another `row_count`; it shares the ledger and the cache."""
        return self._asking(_OF_ROWS + _OF_LEDGER, row_count=row_count)

    def of_outputs(self, outputs: tuple[int, ...]) -> BoundRequest:
        """Return the request for these outputs; it shares the rows, the ledger and the cache."""
        _ = self.tabular_choice  # what the receipt tells is the engine of the request as sent
        return self._asking(_OF_OUTPUTS, output_indices=outputs, outputs=())

    def by_surrogate(self, row_count: int, because: str) -> BoundRequest:
        """Return the request for the engine SURROGATE with a budget of predicted rows, and why."""
        before = self.tabular_choice
        copied = self._asking(
            _OF_ENGINE,
            engine=Engine.SURROGATE,
            budget_predicted_row_count=row_count,
        )
        copied.choice, copied.estimated_because = None, because
        copied.choice = replace(copied.tabular_choice, notes=before.notes)
        return copied

    def _asking(self, dependent: tuple[str, ...], **changed: Any) -> BoundRequest:
        copied = copy(self)
        copied.question = replace(self.question, **changed)
        for name in dependent:
            vars(copied).pop(name, None)
        return copied

    def trial(self, row_count: int, number: int = 0) -> BoundRequest:
        """Return a request for a trial without progress, on so many rows that the number draws."""
        copied = self.with_row_count(row_count)
        copied.question = replace(copied.question, seed=(self.question.seed + number) % 2**31)
        copied.ledger = self.ledger.unplanned()
        return copied

    @property
    def model(self) -> Model:
        """The model that is explained.

        Raises
        ------
        ExplainError
            INVALID_REQUEST if there is none.
        """
        explained = self._explained_model
        if explained is None:
            raise missing_model()
        self.is_model_used = True
        return explained

    @cached_property
    def _explained_model(self) -> Model | None:
        """The model as given, or the one whose outputs are the request's predictions."""
        texts, model = self.question.prediction, self.given_model
        if model is None or not texts:
            return model
        predictions = read_predictions(texts, model.output_names)
        return PredictionModel(model, predictions, lambda: self._sample_outputs(model))

    def _sample_outputs(self, model: Model) -> Matrix:
        """Predict some rows of the table outside the plan: (n_rows, n_model_outputs)."""
        features = self.features
        rows = draw(np.arange(features.n_rows), _SAMPLED_ROWS, 0)
        background = unmerged(features.take(rows), np.ones(len(rows)), rows)
        return self.unplanned.of(model).predict_rows(features, background.columns)

    @cached_property
    def sampled_outputs(self) -> Matrix:
        """Explained outputs of some rows, outside the plan: (n_rows, n_outputs)."""
        sample, choice = self.sample, self.tabular_choice
        rows = sample.unmerged(sample.rows[draw(sample.rows, _SAMPLED_ROWS, 0)])
        if not choice.predicts:
            return choice.on(rows).outputs()
        return self.unplanned.predict_rows(rows.features, rows.columns)[:, self.output_indices]

    def require_model(self) -> None:
        """Raise INVALID_REQUEST if there is no model."""
        _ = self.model

    @property
    def has_model(self) -> bool:
        """Return whether the request has a model."""
        return self.given_model is not None

    @property
    def table(self) -> Table:
        """The table; INVALID_REQUEST if there is none."""
        return self._bound_table.table

    @property
    def _bound_table(self) -> BoundTable:
        if self._given_bound_table is None:
            raise missing_table()
        return self._given_bound_table

    @property
    def is_sampled(self) -> bool:
        """Return whether a method has used the sample."""
        return "sample" in self.__dict__

    @cached_property
    def sample(self) -> Sample:
        """The table bound to the model, and the rows drawn from it.

        Raises
        ------
        ExplainError
            If model and table do not fit each other.
        """
        features = self.features
        draws_by_engine = self.has_model and not self._rows_once
        row_count = self.tabular_choice.row_count if draws_by_engine else None
        sample = take_sample(self._bound_table.weighted, features, self.question, row_count)
        if self.resources.streamed:
            sample = replace(sample, sampled_from=self.resources.streamed.survey.used_count)
        if self.has_model:
            check_labels(self.table, self.question, self.outputs)
        return sample

    @cached_property
    def features(self) -> Features:
        """The features of all rows."""
        if self.has_model:
            self.require_model()
        return self._bound_table.features

    @cached_property
    def tabular_choice(self) -> EngineChoice:
        return self.choose(self.features, self.resources.request_key)

    @cached_property
    def background(self) -> Background:
        """The rows drawn."""
        sample = self.sample
        return sample.unmerged(sample.drawn) if self._rows_once else sample.merged_draw

    @cached_property
    def effects(self) -> Effects:
        """The engine on the rows drawn; INVALID_REQUEST if there is no model."""
        return self.tabular_choice.on(self.background)

    @cached_property
    def streamed_trees(self) -> StreamedTrees | None:
        """The engine on all rows of a table that is too large for memory: see `stream`."""
        rows, question = self.resources.streamed, self.question
        return stream(rows, question, self.block_pool, lambda: self.tabular_choice)

    def choose(self, features: Features, request_key: str = "") -> EngineChoice:
        """Choose the engine for rows of these features; `request_key` for those of the table."""
        with span("choose"):
            choice = choose_engine(
                self.model,
                features,
                self.output_indices,
                self.question,
                replace(self.resources, request_key=request_key),
                self.ledger,
                self.estimated_because,
            )
        unused = unused_told(self.model, features.names, self.output_indices)
        choice = replace(choice, reason=choice.reason + unused)
        self.choice = self.choice or choice
        return choice

    @cached_property
    def output_indices(self) -> Indices:
        """Indices of the outputs to explain: those requested, or the model's default.

        Raises
        ------
        ExplainError
            INVALID_OPTION for outputs that the model does not have, or that repeat.
        """
        model = self._explained_model
        return np.zeros(0, np.intp) if model is None else explained_outputs(self.question, model)

    @cached_property
    def outputs(self) -> Outputs:
        """All outputs of the model, to compare a target with."""
        names, chosen = self.model.output_names, tuple(self.output_indices.tolist())
        is_expression = bool(self.question.prediction)
        scores_classes = self.given_model is not None and self.given_model.has_class_scores
        labels = self.question.class_labels
        return Outputs(names, chosen, scores_classes, labels, are_expressions=is_expression)

    @cached_property
    def predictor(self) -> Predictor:
        """Predictor of all outputs of the model, also of those not explained."""
        return self._predictor(self.ledger)

    @cached_property
    def unplanned(self) -> Predictor:
        """The same predictor for rows outside the plan: they count as predicted only."""
        return self._predictor(self.ledger.unplanned())

    def _predictor(self, ledger: Ledger) -> Predictor:
        outputs = np.arange(len(self.model.output_names))
        own = self.resources
        return Predictor(self.model, outputs, ledger, own.batch_size, own.predicting)

    @cached_property
    def block_pool(self) -> BlockPool:
        """Thread pool for the work on trees."""
        return BlockPool(self.resources.threads, self.ledger)

    def forest(self, width: int | None) -> Forest | Refusal:
        """Read the trees of the model; `width` is its number of columns, for models without it."""
        return self.resources.forest(width)

    def margin(self) -> ClassMargin | Refusal:
        """Return the class scores of the model."""
        return self.resources.margin()
