"""Program of workers that compute tasks for a cluster: passes over tables, and predictions."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from onnxplain_server.adapters.programs.warm_up import FEATURES, NullHost, models, regressor
from onnxplain_server.adapters.runner.blocks.ranged_file import FileInRanges
from onnxplain_server.adapters.runner.on_workers.prediction_task import (
    PredictionComputer,
    PredictionJob,
    pack_job,
    pack_rows,
    pack_task,
)
from onnxplain_server.adapters.workers.ipc import arena_task
from onnxplain_server.adapters.workers.ipc.arena import Arena
from onnxplain_server.adapters.workers.ipc.channel import FrameKind
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.adapters.workers.remote_host import RemoteHost
from onnxplain_server.adapters.workers.worker_loop import Answerer
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input, Scale
from onnxplain_server.core.model_limits import DEFAULT_LIMITS
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.explain.streaming.remote_tasks import StreamedJob, TaskComputer, encoding
from onnxplain_server.explain.streaming.row_binding import RowBinding
from onnxplain_server.trees.kernels.compile import KERNELS
from onnxplain_server.trees.kernels.jit_kernel import JitKernel
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble
from onnxplain_server.trees.streaming.block_effects import AffineOutputs
from onnxplain_server.trees.streaming.passes import CountPass, EffectsPass, TreeSums
from onnxplain_server.trees.streaming.row_blocks import TableBlocks

_GROUPS = ((0,), (0, 1), (0, 1, 2))
_ROW_COUNT = 300


def load() -> None:
    """Compute small tasks and compile all loops: a confined worker could open no file for them."""
    from onnxplain_server.methods.interactions.streamed_measurement import (
        JointMoments,
        SingleMoments,
    )

    codec, computer, ledger = encoding(), TaskComputer(), Ledger(NullHost())
    for ensemble in (read_ensemble(regressor(count)) for count in (1, 2)):
        if not isinstance(ensemble, Ensemble):
            raise TypeError(ensemble.reason)
        outputs = AffineOutputs.of(ensemble, ["y"], np.array([0]))
        binding = RowBinding((Input("X", "float", len(FEATURES)),), (), (), "w", (*FEATURES, "w"))
        job = codec.encode(StreamedJob(TreeSums(ensemble, outputs), binding))
        for content in _tables():
            files = [FileInRanges("rows", len(content), partial(_slice, content))]
            compute = partial(computer.compute, task=(0, 1), table=_table(files), ledger=ledger)
            counts = codec.decode(compute(job, codec.encode(CountPass(_GROUPS))))
            for measure in (SingleMoments((0, 1)), JointMoments(_GROUPS[1:])):
                compute(job, codec.encode(EffectsPass(counts, _GROUPS, measure)))
    for each in KERNELS:
        if isinstance(each.compiled, JitKernel):
            each.compiled.compile()
    _predict()


def _predict() -> None:
    """Predict a few rows on each scale, all at once and in chunks."""
    rows = pack_task([pack_rows({"X": np.zeros((_ROW_COUNT, len(FEATURES)), np.float32)})])
    for model, scale, is_batched in product(models(), Scale, (True, False)):
        job = pack_job(PredictionJob(scale.name, is_batched, DEFAULT_LIMITS))
        with suppress(ExplainError):  # not every model has every scale
            PredictionComputer().compute(model.SerializeToString(), job, rows, lambda: None)


def answerers(_settings: WorkerSettings) -> Mapping[FrameKind, Answerer]:
    """Return the functions that answer, by the kind of the request's frame."""
    return {
        FrameKind.SUM: partial(_answer, TaskComputer()),
        FrameKind.PREDICT_ROWS: partial(_answer_rows, PredictionComputer()),
    }


def _answer(computer: TaskComputer, arena: Arena, payload: bytes, host: RemoteHost) -> bytes:
    task = arena_task.unpack(arena, payload)
    files = [
        FileInRanges(name, count, partial(_ask, host, number))
        for number, (name, count) in enumerate(task.sizes)
    ]
    blocks = (task.first, task.last)
    sums = computer.compute(task.job, task.work, blocks, _table(files), Ledger(host))
    return arena_task.pack_result(arena, sums)


def _answer_rows(
    computer: PredictionComputer, arena: Arena, payload: bytes, host: RemoteHost
) -> bytes:
    ledger = Ledger(host)
    # Tells that it has begun: a model that ends a process before is tried in others, without end.
    with host.loading():
        task = arena_task.unpack_predictions(arena, payload)
    predictions = computer.compute(*task, lambda: ledger.spend(0, 0))
    return arena_task.pack_result(arena, predictions)


def _table(files: Sequence[FileInRanges]) -> TableBlocks:
    # Imported on use elsewhere too.
    from onnxplain_server.adapters.runner.blocks.table_blocks import FileBlocks

    return FileBlocks(files)


def _ask(host: RemoteHost, file: int, start: int, length: int) -> bytes:
    """Have the parent read a range of a file."""
    (content,) = host.cache_get([arena_task.range_name(file, start, length)])
    if content is None:
        raise ExplainError(
            Reason.INVALID_TABLE, "the table's file changes while it is read", "table"
        )
    return content


def _slice(content: bytes, start: int, length: int) -> bytes:
    return content[start : start + length]


def _tables() -> Iterator[bytes]:
    """Yield a small table in each form that is read in blocks."""
    from pyarrow.parquet import write_table

    rng = np.random.default_rng(0)
    columns = {name: rng.normal(25, 10, _ROW_COUNT) for name in FEATURES}
    table = pa.table({**columns, "w": np.ones(_ROW_COUNT)})
    parquet, arrow = io.BytesIO(), io.BytesIO()
    write_table(table, parquet)
    with pyarrow.ipc.new_file(arrow, table.schema) as writer:
        writer.write_table(table)
    yield from (parquet.getvalue(), arrow.getvalue())
