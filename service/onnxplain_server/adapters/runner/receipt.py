"""Receipt of a computation: digests, seed, versions of this installation, elapsed time."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cache
from importlib.metadata import version

from numpy._core._multiarray_umath import (  # type: ignore[import-not-found] # is compiled
    __cpu_features__,
)
from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.core.interfaces import Blobs
from onnxplain_server.core.request import Work
from onnxplain_server.core.systems.processors import processor_variables
from onnxplain_server.trees.streaming.row_blocks import TableBlocks
from onnxplain_server.wire.requests.partial_copy import copy_without

_ROUNDING = ("AVX2", "FMA3", "AVX512F", "ASIMD", "SVE")
"""Extensions by which numpy and onnxruntime choose their loops, and so the order of sums."""
_LEFT_OUT = {"model", "table", "reference", "result_uri"}
"""Fields of a request that its receipt has not: files, which may be large, and where answers go."""
_LIBRARIES = ("numpy", "onnx", "onnxruntime", "scikit-learn", "scipy")


def receipt(
    message: service_pb2.ExplainRequest, model_digest: str, table_digest: str, start: float
) -> service_pb2.Receipt:
    """Build the receipt of a request that was begun at `start`, in monotonic seconds."""
    installed = versions()
    return service_pb2.Receipt(
        model_digest=model_digest,
        table_digest=table_digest,
        seed=message.seed,
        server_version=installed["onnxplain-server"],
        library_versions={name: installed[name] for name in _LIBRARIES},
        elapsed=timedelta(seconds=time.monotonic() - start),
        prediction=message.prediction,
        model_name=message.model_name,
        cluster_column=message.cluster_column,
        request=copy_without(message, _LEFT_OUT),
        processor=_processor(),
    )


def sources(blobs: Blobs) -> Sequence[service_pb2.Source]:
    """Return what was read for the URIs of a request: that of the model first."""
    return [
        source
        for blob in blobs.values()
        for source in service_pb2.Receipt.FromString(blob.receipt).sources
    ]


def add_read_bytes(made: service_pb2.Receipt, table: TableBlocks) -> None:
    """Add the bytes that were read of the table's files during the computation to its sources."""
    counts = table.read_byte_counts()
    for source, count in zip(made.sources[len(made.sources) - len(counts) :], counts, strict=True):
        source.read_byte_count += count


def work_of(message: service_pb2.ExplainRequest, made: service_pb2.Receipt) -> Work:
    """Return the work that the complete receipt of a request tells."""
    names = [method.name for method in made.overview_methods]
    names += [str(options.WhichOneof("method")) for options in message.methods]
    return Work(
        tuple(sorted(set(names))),
        made.row_count,
        made.predicted_row_count,
        made.cache_hit_count,
        made.cache_miss_count,
    )


@cache
def versions() -> Mapping[str, str]:
    """Read the versions of the server and of the libraries that its numbers depend on."""
    return {name: version(name) for name in ("onnxplain-server", *_LIBRARIES)}


@cache
def _processor() -> str:
    """Name the architecture, and the extensions and variables that sums depend on."""
    found = [name for name in _ROUNDING if __cpu_features__.get(name)]
    chosen = [f"{name}={value}" for name, value in processor_variables().items()]
    return " ".join([platform.machine(), *found, *chosen])
