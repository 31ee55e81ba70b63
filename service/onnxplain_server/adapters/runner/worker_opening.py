"""Calls on workers for a request whose model is no sum over trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from onnxplain_server.adapters.runner.on_workers.prediction_task import PredictionJob
from onnxplain_server.adapters.runner.on_workers.worker_calls import PredictionWorkers, WorkerCalls
from onnxplain_server.adapters.runner.request_parts import Asked
from onnxplain_server.core.interfaces import ComputationHost, Host
from onnxplain_server.core.model_limits import ModelLimits
from onnxplain_server.explain.question import Engine
from onnxplain_server.trees.reading.refusal import Refusal


def open_calls(asked: Asked, workers: PredictionWorkers | None, limits: ModelLimits) -> Asked:
    """Have workers, if there are some, predict for a request that the black-box engine explains.

    Trees are read by the process that asks, which sums over them faster than anyone predicts.
    """
    loaded, table = asked.loaded, asked.table
    if workers is None or loaded is None or table is None:
        return asked
    is_black_box = asked.question.engine in {Engine.BLACK_BOX, Engine.SURROGATE}
    if not (is_black_box or isinstance(loaded.model.trees, Refusal)):
        return asked
    model, (host, check) = loaded.model, _watched(asked.host)
    calls = WorkerCalls(
        workers,
        bytes(loaded.file.content),
        PredictionJob(asked.question.scale.name, model.is_batched, limits),
        loaded.worker_batch_size,
        len(table.features.names) + len(model.output_names),
        check,
    )
    return replace(asked, host=host, calls=calls)


def _watched(host: ComputationHost) -> tuple[Host, Callable[[], None]]:
    """Return a host that passes all on, and what raises once its request has ended. Thread-safe."""
    progress = 0.0, 0.0

    def advance(done: float, planned: float) -> None:
        nonlocal progress
        progress = done, planned
        host.advance(done, planned)

    return replace(Host.of(host), advance=advance), lambda: host.advance(*progress)
