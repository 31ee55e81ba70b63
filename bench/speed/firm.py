"""FIRM of a million rows against predicting them once, and all strings of four letters.

Predicting is onnxruntime by itself, with its own threads, in calls of 100,000 rows; both sides
of a ratio run in turn in this process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import onnxruntime
import pyarrow as pa
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain.v1.firm_pb2 import FirmKmerWeights, FirmOptions, FirmSequences
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

from bench.shared.network import network
from bench.shared.null_host import NullHost
from bench.speed.feature_vectors import onnx_forest
from bench.speed_table.row import Row, Unit, in_turn, lines

ROWS, FEATURES = 1_000_000, 50
CALL = 100_000
THREADS = 2


def as_arrow(rows: np.ndarray) -> bytes:
    columns = {f"f{j}": pa.array(column) for j, column in enumerate(rows.T)}
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def predicting(content: bytes, rows: np.ndarray) -> float:
    """Time bare predictions of all rows."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    start = time.perf_counter()
    for first in range(0, len(rows), CALL):
        session.run(None, {name: rows[first : first + CALL]})
    return time.perf_counter() - start


def explaining(content: bytes, arrow: bytes) -> float:
    """Time a whole request, from bytes to bytes."""
    request = ExplainRequest(
        model=Model(content=content),
        table=Table(arrow=arrow),
        methods=[MethodOptions(firm=FirmOptions())],
    ).SerializeToString()
    runner = InProcess(THREADS)
    start = time.perf_counter()
    answer = ExplainResponse.FromString(
        runner.answer(Call(ServiceMethod.EXPLAIN, request), NullHost()).content
    )
    taken = time.perf_counter() - start
    runner.close()
    if len(answer.explanations[0].firm.importances) != FEATURES:
        raise RuntimeError("some features are not there")
    return taken


def rows() -> Iterator[Row]:
    """Measure a whole request of FIRM beside bare predictions of the same rows."""
    drawn = np.random.default_rng(0).normal(size=(ROWS, FEATURES)).astype(np.float32)
    arrow = as_arrow(drawn)
    for model, content, wanted, headline in (
        ("forest of 500 trees of depth 8", onnx_forest(500, FEATURES), 1 / 1.3, "FIRM of a forest"),
        ("network 50-64-64-1", network(widths=(FEATURES, 64, 64, 1)), 0.1, ""),
    ):
        few = as_arrow(drawn[:1_000])
        explaining(content, few)  # loads the loops
        ours, theirs = in_turn(
            partial(explaining, content, arrow), partial(predicting, content, drawn)
        )
        yield Row(
            f"FIRM of {FEATURES} features, {ROWS:,} rows, {model}",
            Unit.SECONDS,
            ours,
            "bare onnxruntime: one prediction of each row",
            theirs,
            wanted,
            headline=f"{headline}, {ROWS:,} rows" if headline else "",
        )


def strings() -> None:
    """All strings of four letters at 100 positions, with weights of all up to three letters."""
    random = np.random.default_rng(0)
    kmers = ["".join("ACGT"[int(i)] for i in np.base_repr(c, 4).zfill(3)) for c in range(64)]
    listed = [(kmer, j) for kmer in kmers for j in range(98)]
    weights = FirmKmerWeights(
        kmers=[kmer for kmer, _ in listed],
        positions=[j for _, j in listed],
        values=random.normal(size=len(listed)),
    )
    asked = FirmSequences(weights=weights, length=100, max_length=4)
    request = ExplainRequest(methods=[MethodOptions(firm=FirmOptions(sequences=asked))])
    runner = InProcess(THREADS)
    start = time.perf_counter()
    runner.answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), NullHost())
    taken = time.perf_counter() - start
    runner.close()
    print(f"all strings of 4 letters at 97 positions: {taken:.2f} s, wanted below 10")


def main() -> None:
    for line in lines(rows()):
        print(line)
    strings()


if __name__ == "__main__":
    main()
