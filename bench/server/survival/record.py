"""Rows of the measurement: operations that were left alone, and operations whose replica ended."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

TABLE = Path(__file__).with_name("replica_kills.csv")


@dataclass(frozen=True)
class Record:
    """An operation.

    Attributes
    ----------
    method, model : str
    signal : str
        That ended the replica: SIGKILL or SIGTERM; empty for an operation that was left alone.
    point : float
        Share of the planned rows from which on the replica was ended; 0 where it was not.
    planned_rows : int
    lost_rows : int
        Rows done by the first attempt, as last reported before the signal.
    predicted_rows : int
        That the attempt which gave the answer predicted, by its receipt.
    whole_rows : int
        That an operation which was left alone predicted.
    seconds : float
        From the begin of the first attempt to the signal.
    whole_seconds, whole_processor_seconds : float
        Of an operation that was left alone, by the audit log.
    rest_processor_seconds : float
        Of the attempt that gave the answer, likewise.
    attempts : int
    equal : str
        "bits", or "1e-9" where the receipt names operators that round by the size of calls.
    """

    method: str
    model: str
    signal: str
    point: float
    planned_rows: int
    lost_rows: int
    predicted_rows: int
    whole_rows: int
    seconds: float
    whole_seconds: float
    whole_processor_seconds: float
    rest_processor_seconds: float
    attempts: int
    equal: str

    @property
    def twice(self) -> float:
        """Share of the rows of the whole that were predicted twice."""
        return (self.lost_rows + self.predicted_rows) / self.whole_rows - 1

    @property
    def more_processor(self) -> float:
        """Processor time of the last attempt beyond the share of the rows left to it."""
        left = 1 - self.lost_rows / self.whole_rows
        return self.rest_processor_seconds / self.whole_processor_seconds - left


def read() -> Sequence[Record]:
    """Read the table; empty where there is none."""
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as file:
        return [_record(row) for row in csv.DictReader(file)]


def append(record: Record) -> None:
    """Add a row."""
    is_new = not TABLE.exists()
    with TABLE.open("a", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Record)], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(asdict(record))


def _record(row: dict[str, str]) -> Record:
    kinds = {"str": str, "int": int, "float": float}
    return Record(**{f.name: kinds[str(f.type)](row[f.name]) for f in fields(Record)})
