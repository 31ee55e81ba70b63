"""Requests on tables in blocks of a few rows, and the same requests on the tables in memory."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain_server.adapters.runner.blocks import table_blocks
from onnxplain_server.adapters.runner.blocks.table_blocks import FileBlocks
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.explain.streaming import streamed_rows
from onnxplain_server.trees.streaming import blocks, column_sums
from onnxplain_server.trees.streaming.row_blocks import LargeTable

MODELS = Path(__file__).parents[2] / "models"


class Host:
    """A host that keeps nothing but the progress.

    Attributes
    ----------
    done : float
        Rows done.
    reserved : float
        Rows planned before anything was done.
    """

    done, reserved = 0.0, 0.0

    def advance(self, done: float, planned: float) -> None:
        self.done, self.reserved = done, self.reserved or planned

    def cache_get(self, names):
        return [None] * len(names)

    def cache_put(self, entries) -> None: ...

    def single_flight(self, name):
        return nullcontext(True)


def cut_blocks(monkeypatch, size: int, sampled: int = 150) -> None:
    """Cut blocks of `size` rows, and keep a sample of some."""
    for module in (table_blocks, blocks, streamed_rows):
        monkeypatch.setattr(module, "BLOCK_ROWS", size)
    monkeypatch.setattr(streamed_rows, "SAMPLED_ROWS", sampled)


def keep_levels(monkeypatch, count: int) -> None:
    """Keep the distinct values of columns that have at most so many, and 5 of others."""
    monkeypatch.setattr(column_sums, "MAX_LEVELS", count)
    monkeypatch.setattr(column_sums, "KEPT_LEVELS", 5)


def known_rows(name: str, count: int, rng) -> dict[str, Any]:
    """Draw known rows of a model, numbers with small shifts; every tenth row repeats another."""
    known = json.loads((MODELS / f"{name}.json").read_text())["columns"]
    columns = {}
    for column, values in known.items():
        drawn = rng.choice(np.array(values), count)
        if drawn.dtype.kind == "f":
            drawn = (drawn + 0.01 * rng.normal(size=count)).astype(np.float32)
        drawn[::10] = drawn[1::10][: len(drawn[::10])]
        columns[column] = drawn
    return columns


def names_of(name: str) -> list[str]:
    """Return the columns of a model."""
    return list(json.loads((MODELS / f"{name}.json").read_text())["columns"])


def request_of(name: str, **fields) -> service_pb2.ExplainRequest:
    """Make a request without table."""
    request = service_pb2.ExplainRequest(plots=False, **fields)
    request.model.content = (MODELS / f"{name}.onnx").read_bytes()
    return request


def answers(runner, request, table, folder, memory_bytes=1 << 30):
    """Answer a request on the table in blocks, and in memory."""
    path = folder / "rows.parquet"
    pq.write_table(pa.table(table), path)
    large = LargeTable(FileBlocks([path]), memory_bytes)
    found = runner.answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), Host(), large)
    whole = service_pb2.ExplainRequest()
    whole.CopyFrom(request)
    whole.table.parquet = path.read_bytes()
    expected = runner.answer(Call(ServiceMethod.EXPLAIN, whole.SerializeToString()), Host())
    read = service_pb2.ExplainResponse.FromString
    return read(found.content), read(expected.content)


_IN_MEMORY = {"constant_losses", "observed_means", "row_weights"}
"""Fields of rows that are read together."""


def _is_told(field) -> bool:
    """Return whether rows that were not read together tell a field, too."""
    return field.name not in _IN_MEMORY and "outside" not in field.name


def against_memory(runner, request, table, folder, scale):
    """Answer in blocks and in memory; all rows are used by both.

    Parameters
    ----------
    scale : callable (explanation) -> float
        Size of its numbers.

    Returns
    -------
    str, message, message
        First difference of the explanations, and both answers.
    """
    found, expected = answers(runner, request, table, folder)
    count = len(next(iter(table.values())))
    assert f"all {count:,} rows were read in blocks" in found.receipt.engine_reason
    assert found.explanations[0].rows == expected.explanations[0].rows
    own, other = found.explanations[0], expected.explanations[0]
    return difference(own, other, scale(other)), found, expected


def difference(found, expected, scale: float, path: str = "") -> str:
    """Return the first field of two messages that differs by more than 1e-12, or ""."""
    if found.DESCRIPTOR is not expected.DESCRIPTOR:
        return path
    for field in filter(_is_told, found.DESCRIPTOR.fields):
        own, other = getattr(found, field.name), getattr(expected, field.name)
        pairs = zip(own, other, strict=True) if field.is_repeated else [(own, other)]
        if field.is_repeated and len(own) != len(other):
            return f"{path}.{field.name}: {len(own)} in place of {len(other)}"
        for a, b in pairs:
            where = f"{path}.{field.name}"
            if field.message_type is not None:
                deeper = difference(a, b, scale, where)
                if deeper:
                    return deeper
            elif isinstance(a, float):
                is_close = math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12 * scale)
                if not (is_close or (math.isnan(a) and math.isnan(b))):
                    return f"{where}: {a!r} in place of {b!r}"
            elif a != b:
                return f"{where}: {a!r} in place of {b!r}"
    return ""
