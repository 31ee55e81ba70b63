"""Choice between all rows of a table in blocks and the sample of them that is in memory."""

from __future__ import annotations

from collections.abc import Callable

from onnxplain_server.explain.engines.engine_choice import EngineChoice
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.streaming.remote_tasks import RemoteTasks, StreamedJob
from onnxplain_server.explain.streaming.streamed_rows import StreamedRows
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.streaming.engine import StreamedTrees


def stream(
    rows: StreamedRows | None,
    question: Question,
    pool: BlockPool,
    choice: Callable[[], EngineChoice],
) -> StreamedTrees | None:
    """Return the engine on all rows of a table that is read in blocks.

    None where there is no such table, where the question asks for fewer rows, for a budget or for
    an overview, or where the engine needs all rows at once: methods then use the sample.
    """
    if rows is None:
        return None
    budget = (question.budget_seconds, question.budget_predicted_row_count)
    if budget != (None, None) or not question.methods:
        return None
    if question.row_count is not None and question.row_count < rows.row_count:
        return None
    on_blocks = choice().stream
    if on_blocks is None:
        return None
    trees = on_blocks(rows, pool, rows.memory_bytes)
    if rows.remote is not None:
        job, files = StreamedJob(trees.trees, rows.binding), rows.remote.files
        trees.tasks = RemoteTasks(job, files, rows.row_count, rows.remote.workers, pool.ledger)
    return trees
