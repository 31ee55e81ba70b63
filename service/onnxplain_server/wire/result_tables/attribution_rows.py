"""Attributions as a Parquet table: one row for each row explained and output."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from onnxplain.v1.attributions_pb2 import AttributionsOptions
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, MethodOptions
from onnxplain.v1.model_pb2 import ModelDescription

from onnxplain_server.core.arrays import Cube
from onnxplain_server.core.model import distinct_names
from onnxplain_server.wire import canonical
from onnxplain_server.wire.result_tables.parquet_stream import parquet_parts

if TYPE_CHECKING:
    from onnxplain_server.methods.attributions import Result

_FIRST = ("row_index", "output", "base_value", "prediction")
_REPEATING = ("output", "base_value")
_GROUP_NUMBERS = 2**21
"""Numbers of a row group: 16 MiB."""


class _Numbers(NamedTuple):
    """Numbers of rows, one column for each player or pair.

    Attributes
    ----------
    kind : str
        "value", "standard_error" or "interaction".
    players : sequence of sequences of players
        The player or the pair of each column.
    names : sequence of str
        As they are before they are made distinct.
    values : (n_rows, n_columns, n_outputs)
    """

    kind: str
    players: Sequence[Sequence[Sequence[str]]]
    names: Sequence[str]
    values: Cube


def attribution_rows(result: Result, response: ExplainResponse) -> Iterator[bytes]:
    """Write the rows of a result as Parquet; yield the file in parts.

    Parameters
    ----------
    result : Result
    response : ExplainResponse
        The answer: its receipt and options go into the metadata.
    """
    numbers = _numbers(result)
    names = distinct_names([*_FIRST, *(name for each in numbers for name in each.names)])
    types = [pa.int32(), pa.string(), *[pa.float64()] * (len(names) - 2)]
    metadata = _metadata(response) | {
        "columns": json.dumps(_described(numbers, names), ensure_ascii=False)
    }
    schema = pa.schema(
        zip(names, types, strict=True), {f"onnxplain.{key}": metadata[key] for key in metadata}
    )
    return parquet_parts(schema, _groups(result, numbers, schema), _REPEATING)


def _numbers(result: Result) -> list[_Numbers]:
    """Return the values, with standard errors where they are estimated, and interactions."""
    players = [[player] for player in result.features]
    names = [" + ".join(player) for player in result.features]
    numbers = [_Numbers("value", players, names, result.values)]
    if result.are_estimated:
        errors = [f"{name} standard error" for name in names]
        numbers.append(_Numbers("standard_error", players, errors, result.standard_errors))
    if result.pairs:
        pairs = list(combinations(result.features, 2))
        joint = [" × ".join(pair) for pair in combinations(names, 2)]
        numbers.append(_Numbers("interaction", pairs, joint, result.interactions))
    return numbers


def _described(numbers: Sequence[_Numbers], names: Sequence[str]) -> list[Mapping[str, object]]:
    """Tell what each column of numbers has: its name may be numbered, or be that of a group."""
    columns = [(each.kind, players) for each in numbers for players in each.players]
    return [
        {"name": name, "kind": kind, "features": players}
        for name, (kind, players) in zip(names[len(_FIRST) :], columns, strict=True)
    ]


def _metadata(response: ExplainResponse) -> dict[str, str]:
    receipt, options = response.receipt, MethodOptions()
    options.CopyFrom(response.explanations[0].options)
    own = options.attributions
    own.ClearField("explained_rows")  # may be as large as the table
    return {
        "model_digest": receipt.model_digest,
        "model_name": receipt.model_name,
        "table_digest": receipt.table_digest,
        "seed": str(receipt.seed),
        "perturbation": AttributionsOptions.Perturbation.Name(own.perturbation),
        "value": AttributionsOptions.Value.Name(own.value),
        "scale": ModelDescription.Scale.Name(receipt.scale),
        "server_version": receipt.server_version,
        "options": canonical.encode(options),
        "receipt": canonical.encode(receipt),
    }


def _groups(
    result: Result, numbers: Sequence[_Numbers], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in groups of bounded size."""
    row_count, output_count = result.predictions.shape
    step = max(1, _GROUP_NUMBERS // (len(schema) * output_count))
    outputs = pa.array(result.output_names, pa.string())
    numbers_of_rows = result.row_indices if len(result.row_indices) else np.arange(row_count)
    for start in range(0, row_count, step):
        rows = slice(start, start + step)
        indices = numbers_of_rows[rows]
        columns = [
            np.repeat(indices, output_count).astype(np.int32),
            outputs.take(pa.array(np.tile(np.arange(output_count), len(indices)))),
            np.tile(result.base_values, len(indices)),
            result.predictions[rows].ravel(),
        ]
        for each in numbers:
            columns += [each.values[rows, c].ravel() for c in range(each.values.shape[1])]
        yield pa.record_batch(columns, schema=schema)
