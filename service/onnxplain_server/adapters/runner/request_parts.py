"""Parts of a request to a runner: its model and table, and the key of equal requests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.adapters.onnx import OnnxModel
from onnxplain_server.adapters.runner.loaded_models import Loaded, LoadedModels
from onnxplain_server.adapters.runner.on_workers.worker_model import WorkerModel
from onnxplain_server.adapters.runner.receipt import add_read_bytes, receipt, sources
from onnxplain_server.adapters.runner.timed_model import TimedModel, timed_rest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs, ComputationHost
from onnxplain_server.core.model import Model
from onnxplain_server.core.request import RequestFile
from onnxplain_server.core.systems.confinement import UNCONFINED, can_confine
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.explain import Answer, BoundTable, PartialExplanation, Question, Resources
from onnxplain_server.explain.streaming.streamed_rows import StreamedRows
from onnxplain_server.telemetry.spans import current
from onnxplain_server.trees.reading.refusal import Refusal
from onnxplain_server.wire import answer, question
from onnxplain_server.wire.blobs import identify
from onnxplain_server.wire.comparisons.comparison import add_comparison
from onnxplain_server.wire.result_tables.table_check import names_table

if TYPE_CHECKING:
    from onnxplain_server.adapters.runner.on_workers.worker_calls import WorkerCalls
    from onnxplain_server.adapters.runner.remote.model import RemoteModel
    from onnxplain_server.adapters.runner.remote.opened import OpenedRemote
    from onnxplain_server.trees.streaming.row_blocks import LargeTable


def model_file(
    message: service_pb2.ExplainRequest | service_pb2.DescribeTableRequest, blobs: Blobs
) -> RequestFile | None:
    """Return the request's model; None where it has none."""
    if not message.HasField("model"):
        return None
    content = question.model_content(message.model, blobs)
    return RequestFile("onnx", content, identity=message.model.id or identify(content))


def request_key(request: bytes, message: service_pb2.ExplainRequest, blobs: Blobs) -> str:
    """Digest a request that names its table by digest; empty for one that holds its table."""
    blob = blobs.get(message.table.id)
    return "" if blob is None else f"{blob.form}:{hashlib.sha256(request).hexdigest()}"


def refuse_inconsistent(message: service_pb2.ExplainRequest, inconsistency: str) -> None:
    """Raise INCONSISTENT_MODEL, unless the request allows such a model."""
    if not message.allow_inconsistent_model:
        raise ExplainError(
            Reason.INCONSISTENT_MODEL,
            f"{inconsistency} Fix the model, or set allow_inconsistent_model to explain it anyway.",
            "model",
        )


Publish: TypeAlias = Callable[[PartialExplanation], None]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Request that was read, with its model loaded."""

    message: service_pb2.ExplainRequest
    blobs: Blobs
    loaded: Loaded | None
    remote: OpenedRemote | None
    table: BoundTable | None
    question: Question
    host: ComputationHost
    key: str
    table_digest: Callable[[], str]
    streamed: StreamedRows | None
    calls: WorkerCalls | None = None

    @property
    def model(self) -> OnnxModel | RemoteModel | None:
        """The model, if there is one."""
        found = self.remote or self.loaded
        return found.model if found else None

    def arguments(
        self, models: LoadedModels, threads: ThreadPoolExecutor
    ) -> tuple[TimedModel | None, BoundTable | None, Question, Resources]:
        """Return the arguments of the use cases; `threads` are those for models in this process."""
        loaded, remote, host = self.loaded, self.remote, self.host
        if remote:
            resources = Resources(
                host,
                remote.batch_size,
                remote.threads,
                lambda: remote.model.trees,
                streamed=self.streamed,
            )
        elif loaded:
            calls = self.calls
            resources = Resources(
                host,
                loaded.worker_batch_size if calls else loaded.batch_size,
                threads,
                lambda: loaded.model.trees,
                loaded.forest,
                lambda: models.margin(loaded, host),
                loaded.memo,
                request_key=self.key,
                streamed=self.streamed,
                call_threads=calls.threads if calls else None,
                row_seconds=lambda: loaded.model.row_seconds,
                written=lambda: models.written(loaded, host),
                additive=lambda: loaded.model.additive,
                first_layers=lambda: timed_rest(loaded.model.first_layers),
            )
        else:
            no_trees = Refusal("there is no model")
            resources = Resources(host, BatchSize(), threads, lambda: no_trees)
        model = TimedModel(self.predicting, current()) if self.predicting else None
        return model, self.table, self.question, resources

    def predicted_row_count(self, counted: int) -> int:
        """Return the rows that the model was asked for: a remote one is also asked to check it."""
        return self.remote.model.asked_row_count if self.remote else counted

    @property
    def predicting(self) -> Model | None:
        """The model, with workers that predict in its place, if there are some."""
        if self.calls and self.loaded:
            return WorkerModel(self.loaded.model, self.calls.predict)
        return self.model

    def response(
        self, result: Answer, start: float, table: LargeTable | None
    ) -> service_pb2.ExplainResponse:
        """Write the response to a request that was begun at `start`, in monotonic seconds.

        Parameters
        ----------
        table : LargeTable or None
            Whose bytes were read while it was computed.
        """
        message = self.message
        response = answer.write(
            result,
            rows=not names_table(message.result_uri),
            replicates=message.replicates or message.HasField("reference"),
        )
        self._write_provenance(response, start, has_predictions=result.has_predictions)
        self._add_comparison(response)
        if table is not None:
            add_read_bytes(response.receipt, table.blocks)
        return response

    def _add_comparison(self, response: service_pb2.ExplainResponse) -> None:
        """Compare an answer with the reference of its request, if it has one, and sum it up."""
        from onnxplain_server.report import summary  # noqa: PLC0415
        from onnxplain_server.report.output_names import output_naming  # noqa: PLC0415

        add_comparison(response, self.message, output_naming(response, self._target))
        if response.HasField("comparison"):
            told = summary.of_changes(response.comparison, response)
            response.comparison.summary.extend(told)

    @property
    def _target(self) -> str:
        """The only column of true values; empty for none, and for several."""
        targets = self.question.targets
        return targets[0] if len(targets) == 1 else ""

    def _write_provenance(
        self, response: service_pb2.ExplainResponse, start: float, *, has_predictions: bool
    ) -> None:
        """Write model, receipt, a missing confinement, and the summary and key figures of all."""
        # Descriptions have no summary, and load none of this.
        from onnxplain_server.report import key_figures, summary  # noqa: PLC0415
        from onnxplain_server.report.output_names import with_output_names  # noqa: PLC0415

        made = response.receipt
        if self.model and has_predictions:
            made.size_dependent_operators.extend(self.model.size_dependent_operators)
        identity = ""
        if self.loaded or self.remote:
            made.MergeFrom(service_pb2.Receipt(scale=self.question.scale.value))
        if self.remote:
            response.model.CopyFrom(answer.write_description(self.remote.description()))
            made.remote_model.CopyFrom(self.remote.receipt())
            made.predicted_row_count = self.remote.model.asked_row_count
        elif self.loaded:
            response.model.CopyFrom(answer.write_description(self.loaded.description))
            identity = self.loaded.file.identity or ""
            if not can_confine():
                response.warnings.add(code="UNCONFINED", message=UNCONFINED, kind="DOUBT")
        made.MergeFrom(receipt(self.message, identity, self.table_digest(), start))
        made.sources.extend(sources(self.blobs))
        named = with_output_names(response, self._target)
        response.summary.extend(summary.of_answer(named))
        figures = key_figures.of_answer(named)
        response.key_figures.extend(service_pb2.KeyFigure(**f._asdict()) for f in figures)

    def checking(self, publish: Publish | None) -> Publish | None:
        """Return what publishes parts of an answer after a check of its remote model."""
        remote = self.remote
        if remote is None or publish is None:
            return publish

        def publish_checked(part: PartialExplanation) -> None:
            remote.finish()
            publish(part)

        return publish_checked

    def finish(self) -> None:
        """Check that a remote model was not replaced on the way, and cache its numbers."""
        if self.remote:
            self.remote.finish()

    def close(self) -> None:
        """End what a remote model, or workers, have for this request."""
        if self.calls:
            self.calls.close()
        if self.remote:
            self.remote.close()
