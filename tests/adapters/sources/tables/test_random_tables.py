"""Random tables in random files: what is read is what a walk over the rows finds."""

from __future__ import annotations

import datetime
import math
import operator
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

EPOCH = datetime.date(1970, 1, 1)
DAYS = st.integers(-9, 9).map(lambda day: EPOCH + datetime.timedelta(days=day))
TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "whole": (pa.int64(), st.integers(-3, 3)),
    "small": (pa.uint8(), st.integers(0, 3)),
    "number": (pa.float64(), st.sampled_from([-1.5, 0.0, -0.0, 2.5, math.nan, math.inf])),
    "single": (pa.float32(), st.sampled_from([-1.5, 0.0, 2.5, math.nan])),
    "text": (pa.string(), st.sampled_from(["", "a", "b", "é", "a" * 70])),
    "category": (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["a", "b", "c"])),
    "flag": (pa.bool_(), st.booleans()),
    "day": (pa.date32(), DAYS),
    "time": (
        pa.timestamp("ms"),
        DAYS.map(lambda day: datetime.datetime.combine(day, datetime.time(12))),
    ),
    "money": (pa.decimal128(9, 2), st.integers(-3, 3).map(lambda cents: Decimal(cents) / 4)),
    "dotted.name": (pa.int32(), st.integers(-3, 3)),
}
OPERATORS: dict[str, Any] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
KEYS: dict[str, list[Any]] = {"year": [2024, 2025, None], "place": ["a b", "c/d", None]}


@st.composite
def tables(draw):
    """Files with rows, keys of their folders, columns to read and filters."""
    names = draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=5, unique=True))
    keys = draw(st.lists(st.sampled_from(list(KEYS)), unique=True))
    files = []
    for _ in range(draw(st.integers(1, 4))):
        n_rows = draw(st.integers(0, 12))
        rows = {
            name: draw(
                st.lists(st.none() | TYPES[name][1], min_size=n_rows, max_size=n_rows), label=name
            )
            for name in names
        }
        files.append((rows, {key: draw(st.sampled_from(KEYS[key])) for key in keys}, n_rows))
    columns = draw(st.none() | st.lists(st.sampled_from([*names, *keys]), min_size=1))
    filters = draw(st.lists(filters_on([*names, *keys]), max_size=2))
    return files, names, keys, columns, filters


@st.composite
def filters_on(draw, names):
    name = draw(st.sampled_from(names))
    how = draw(st.sampled_from(list(OPERATORS)))
    values = TYPES[name][1] if name in TYPES else st.sampled_from(KEYS[name][:2])
    known = values.filter(lambda value: not is_missing(value))
    count = 2 if how in {"==", "!="} else 1
    return name, how, draw(st.lists(known, min_size=1, max_size=count))


def is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def meets(value: object, how: str, others) -> bool:
    """Say whether a value meets a filter; a missing one meets none."""
    if is_missing(value):
        return False
    each = [OPERATORS[how](value, other) for other in others]
    return all(each) if how == "!=" else any(each)


def folder(values) -> str:
    escaped = {" ": "%20", "/": "%2F"}
    texts = {
        key: "__HIVE_DEFAULT_PARTITION__" if v is None else str(v) for key, v in values.items()
    }
    parts = [f"{key}={''.join(escaped.get(c, c) for c in v)}/" for key, v in texts.items()]
    return "".join(parts)


def comparable(value: object) -> object:
    """Write NaN as a text, since it does not equal itself, and zeros with their sign."""
    return repr(value) if isinstance(value, float) else value


@given(made=tables(), form=st.sampled_from(["parquet", "file", "stream"]), rows=st.integers(1, 9))
def test_equals_a_walk_over_the_rows(made, form, rows, files) -> None:
    parts, names, keys, columns, filters = made
    schema = pa.schema([(name, TYPES[name][0]) for name in names])
    contents, expected = {}, []
    for number, (values, of_folder, n_rows) in enumerate(parts):
        table = pa.table(values, schema=schema)
        if form == "parquet":
            content = files.parquet(table, row_group_size=rows)
        else:
            content = files.arrow(table, rows, stream=form == "stream")
        ending = "parquet" if form == "parquet" else "arrow"
        contents[f"{folder(of_folder)}{number}.{ending}"] = content
        # As the types round them.
        stored = table.to_pylist()
        expected += [row | of_folder for row in stored]
        assert len(stored) == n_rows
    wanted = [n for n in [*names, *keys] if columns is None or n in columns]
    known = {key: {type(of[key]) for _, of, _ in parts} - {type(None)} for key in keys}
    # A key without any value is text.
    filters = [(n, how, v) for n, how, v in filters if n not in keys or known[n]]
    for name, how, others in filters:
        expected = [row for row in expected if meets(row[name], how, others)]

    found = files.read(
        contents,
        columns,
        [(name, how, ",".join(map(text, others))) for name, how, others in filters],
    )

    assert found.column_names == wanted
    assert [[comparable(row[name]) for name in wanted] for row in found.to_pylist()] == [
        [comparable(row[name]) for name in wanted] for row in expected
    ]
