"""Parquet: footers first, then needed columns in those row groups that may meet the filters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from onnxplain_server.adapters.sources.tables.failures import reading, size, too_large
from onnxplain_server.adapters.sources.tables.file_schemas import FileSchemas
from onnxplain_server.adapters.sources.tables.parquet_footers import ParquetFooter
from onnxplain_server.adapters.sources.tables.prefetch import Piece, Prefetch, RangeGroup
from onnxplain_server.adapters.sources.tables.reading_plan import ReadingPlan, plan
from onnxplain_server.adapters.sources.tables.result_stream import ResultStream
from onnxplain_server.adapters.sources.tables.selection import Selection

_PART_BYTES = 8 << 20
"""Compressed bytes that are decoded at once: large enough for all cores, small enough that the
next ones arrive meanwhile."""


@dataclass(frozen=True)
class Block:
    """Row groups of a file that are decoded together, by parts of their columns.

    Attributes
    ----------
    parts : sequence of (names, RangeGroup)
        Columns, and where their chunks lie.
    """

    footer: ParquetFooter
    row_groups: Sequence[int]
    row_count: int
    parts: Sequence[tuple[Sequence[str], RangeGroup]]


class ParquetTable:
    """Table of Parquet files, whose footers are read."""

    def __init__(self, chosen: Selection) -> None:
        self._chosen = chosen
        with Prefetch(chosen.reader) as fetch:
            footers = fetch.map(lambda file: ParquetFooter(chosen.reader, file), chosen.described)
        footer_bytes = sum(footer.byte_count for footer in footers)
        if footer_bytes > chosen.byte_limit:
            raise too_large(f"the files' footers have {size(footer_bytes)}", chosen.byte_limit)
        self._footers = footers[: len(chosen.files)]
        self._schemas = FileSchemas((footer.file, footer.schema) for footer in footers)
        self._partitions = chosen.partitions.without(self._schemas.names)

    @property
    def column_names(self) -> Sequence[str]:
        return [*self._schemas.names, *self._partitions.types]

    @property
    def row_count(self) -> int:
        """Rows of all files."""
        return sum(footer.total_row_count for footer in self._footers)

    @property
    def is_plain(self) -> bool:
        """True where rows are those of the files: of one schema, without filters and partitions."""
        has_one_schema = len({str(footer.schema) for footer in self._footers}) == 1
        return has_one_schema and not self._chosen.filters and not self._partitions.types

    def read(self, columns: Sequence[str] | None, sink: BinaryIO, texts: Sequence[str] = ()) -> int:
        keys = self._partitions.with_texts(texts)
        what = plan(self._schemas, keys, self._chosen.filters, columns)
        blocks = [block for footer in self._footers for block in self._blocks(footer, what)]
        row_count = sum(block.row_count for block in blocks)
        self._check(blocks, what, row_count)
        byte_limit = self._chosen.byte_limit
        parts = (part for block in blocks for _, part in block.parts)
        with (
            Prefetch(self._chosen.reader) as fetch,
            ResultStream(sink, what.schema, byte_limit, row_count) as result,
        ):
            contents = fetch.ahead(parts, byte_limit)
            for block in blocks:
                result.write(_decode(block, what, contents), block.row_count)
        return result.row_count

    def _check(self, blocks: Sequence[Block], what: ReadingPlan, row_count: int) -> None:
        """Refuse what is known to be too large, before it is read."""
        limit = self._chosen.byte_limit
        least = what.least_bytes(row_count)
        if what.condition is None and least > limit:
            raise too_large(f"the table has {size(least)} or more", limit)
        for block in blocks:
            if (least := what.least_bytes(block.row_count)) > limit:
                group = f"row group {block.row_groups[0]} of {block.footer.file.uri}"
                raise too_large(f"{group} has {size(least)} or more", limit)

    def _blocks(self, footer: ParquetFooter, what: ReadingPlan) -> Iterator[Block]:
        names = list(what.file_types)
        with reading(footer.file, "Parquet"):
            kept = _kept(footer, what)
        waiting: list[int] = []
        waiting_bytes = 0
        for row_group in kept:
            byte_count = sum(length for _, length in footer.ranges(row_group, names))
            if waiting and waiting_bytes + byte_count > _PART_BYTES:
                yield _block(footer, waiting, names)
                waiting, waiting_bytes = [], 0
            waiting.append(row_group)
            waiting_bytes += byte_count
        if waiting:
            yield _block(footer, waiting, names)


def _kept(footer: ParquetFooter, what: ReadingPlan) -> list[int]:
    """Return the row groups that may have rows that meet the filter, by their statistics.

    Arrow compares no statistics of categories: their row groups are all read, and filtered then.
    """
    fragment = footer.fragment
    if what.condition is not None:
        fragment = fragment.subset(what.condition, schema=footer.schema)
    return [group.id for group in fragment.row_groups]


def _block(footer: ParquetFooter, row_groups: Sequence[int], names: Sequence[str]) -> Block:
    """Make a block; the columns of a large row group are split."""
    parts: list[tuple[Sequence[str], RangeGroup]] = []
    waiting: list[str] = []
    waiting_bytes = 0
    for name in names:
        ranges = [r for group in row_groups for r in footer.ranges(group, [name])]
        byte_count = sum(length for _, length in ranges)
        if waiting and waiting_bytes + byte_count > _PART_BYTES:
            parts.append(_part(footer, row_groups, waiting))
            waiting, waiting_bytes = [], 0
        waiting.append(name)
        waiting_bytes += byte_count
    if waiting:
        parts.append(_part(footer, row_groups, waiting))
    return Block(footer, row_groups, sum(map(footer.row_count, row_groups)), parts)


def _part(
    footer: ParquetFooter, row_groups: Sequence[int], names: Sequence[str]
) -> tuple[Sequence[str], RangeGroup]:
    ranges = [r for group in row_groups for r in footer.ranges(group, names)]
    return names, RangeGroup(footer.file, ranges)


def _decode(block: Block, what: ReadingPlan, contents: Iterator[list[Piece]]) -> pa.Table:
    """Decode a block, and return its rows that meet the filter."""
    columns: dict[str, pa.ChunkedArray] = {}
    fragment = block.footer.fragment.subset(row_group_ids=block.row_groups)
    for names, _ in block.parts:
        pieces = next(contents)
        with reading(block.footer.file, "Parquet"):
            block.footer.hold(pieces)
            table = fragment.to_table(columns=list(names), batch_size=max(block.row_count, 1))
            columns |= zip(table.column_names, table.columns, strict=True)
    block.footer.hold([])
    with reading(block.footer.file, "Parquet"):
        return what.finish(pa.table(columns), block.footer.file, block.row_count)
