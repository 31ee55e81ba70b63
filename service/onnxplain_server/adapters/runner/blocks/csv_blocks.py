"""CSV files larger than memory: converted block by block, once, into a temporary Arrow file.

Arrow's reader of streams takes the types of a file's first block for all, while its reader of
whole files finds those that fit all rows. Here a column whose values do not fit gets the next type
of the whole reader's order, and the file is read again: types are those of the whole reader.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc

from onnxplain_server.wire.csv_table import (
    UTF_16_MARKS,
    check_decimal_points,
    has_decimal_commas,
    separator_line_size,
    separator_of,
)

BLOCK_BYTES = 8 << 20
"""Text that is converted at once; no row may be longer."""
_START_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"
_NEXT: dict[pa.DataType, pa.DataType] = {
    pa.null(): pa.int64(),
    pa.int64(): pa.bool_(),
    pa.bool_(): pa.date32(),
    pa.date32(): pa.time32("s"),
    pa.time32("s"): pa.timestamp("s"),
    pa.timestamp("s"): pa.timestamp("ns"),
    pa.timestamp("ns"): pa.float64(),
    pa.float64(): pa.string(),
    pa.string(): pa.binary(),
}
"""Order in which Arrow's reader of whole files tries types."""
_MISFIT = re.compile(r"CSV column #(\d+): (?:Row #\d+: )?(?:CSV conversion error|invalid UTF8)")
"""What Arrow tells of a column; with one thread, which `OMP_NUM_THREADS` sets too, also the row."""


def is_gzipped(path: Path) -> bool:
    """Return whether a file begins like a gzip file."""
    with path.open("rb") as file:
        return file.read(2) == _GZIP


def open_content(path: Path) -> pa.NativeFile:
    """Open a file, unpacked where it is gzipped."""
    return pa.input_stream(str(path), compression="gzip" if is_gzipped(path) else None)


def open_text(path: Path) -> pa.NativeFile:
    """Open a file, unpacked, and as UTF-8 where it is UTF-16."""
    with open_content(path) as file:
        is_utf_16 = file.read(2) in UTF_16_MARKS
    opened = open_content(path)
    return pa.transcoding_input_stream(opened, "utf-16", "utf-8") if is_utf_16 else opened


def convert_csv(path: Path, arrow: Path, texts: Collection[str] = ()) -> None:
    """Write the rows of a CSV file, also a gzipped one, as an Arrow IPC file.

    Parameters
    ----------
    texts : collection of str
        Columns that are text, whatever their values look like.

    Raises
    ------
    pa.ArrowException, OSError
    ValueError
        As those of `parse_csv`.
    """
    reader = _CsvReader(path, texts)
    schema = reader.convert(arrow, ".")
    if reader.separator != ";":
        return
    others = [name for name in schema.names if name not in texts]
    with_comma = [name for name in others if has_decimal_commas(_column(arrow, name))]
    if with_comma:
        check_decimal_points(schema, reader.convert(arrow, ","), with_comma[0])


class _CsvReader:
    """Reader of a file, with the separator of its header."""

    def __init__(self, path: Path, texts: Collection[str]) -> None:
        self._path = path
        self._texts = texts
        with open_text(path) as file:
            start = file.read(_START_BYTES)
        self._skipped = separator_line_size(start)
        self.separator = separator_of(start[self._skipped :])

    def convert(self, arrow: Path, decimal_point: str) -> pa.Schema:
        """Write all rows in the first types that fit them, and return these."""
        types = self._first_types(decimal_point)
        while (column := self._write(arrow, types, decimal_point)) is not None:
            types[column] = _NEXT[types[column]]
        times = {name for name, kind in types.items() if pa.types.is_temporal(kind)}
        if times:  # are text, as in the file
            types |= dict.fromkeys(times, pa.string())
            self._write(arrow, types, decimal_point)
        return pa.schema(list(types.items()))

    def _first_types(self, decimal_point: str) -> dict[str, pa.DataType]:
        """Return types that fit the first block."""
        with open_text(self._path) as file:
            schema = self._open(file, None, decimal_point).schema
        return {
            field.name: pa.string() if field.name in self._texts else field.type for field in schema
        }

    def _write(self, arrow: Path, types: dict[str, pa.DataType], decimal_point: str) -> str | None:
        """Write all rows in these types; return the name of a column that they do not fit."""
        schema = pa.schema(list(types.items()))
        try:
            with (
                open_text(self._path) as file,
                pa.ipc.new_file(str(arrow), schema) as writer,
            ):
                for batch in self._open(file, types, decimal_point):
                    writer.write_batch(batch)
        except pa.ArrowInvalid as error:
            misfit = _MISFIT.search(str(error))
            if misfit is None or schema.types[int(misfit[1])] not in _NEXT:
                raise
            return str(schema.names[int(misfit[1])])
        return None

    def _open(
        self, file: pa.NativeFile, types: dict[str, pa.DataType] | None, decimal_point: str
    ) -> pyarrow.csv.CSVStreamingReader:
        file.read(self._skipped)
        return pyarrow.csv.open_csv(
            file,
            read_options=pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=self.separator, newlines_in_values=True
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                decimal_point=decimal_point, column_types=types
            ),
        )


def _column(arrow: Path, name: str) -> Iterator[pa.Array]:
    """Read a column batch by batch."""
    with pa.memory_map(str(arrow)) as source:
        reader = pyarrow.ipc.open_file(source)
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i).column(name)
