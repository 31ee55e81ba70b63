"""Tables of OpenML with published plots of feature vectors, and the plots' coordinates.

All is read from a folder that the caller fills: FOLDER/OWNER/NAME is a checkout of the GitHub
repository OWNER/NAME, for each repository of openml_tables.toml. Files are checked by digest.
Two tables need no file: Bank Marketing is a copy in bench/data, and Agrawal1 is drawn.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
import pyarrow.csv as arrow_csv
from onnxplain_server.core.arrays import Array, Matrix

from bench.shared import tables
from bench.shared.tables import Table

_SOURCES = tomllib.loads(Path(__file__).with_name("openml_tables.toml").read_text("utf-8"))
_TABLES: dict[str, Any] = {one["name"]: one for one in _SOURCES["table"]}
NAMES = ("bank-marketing", "Agrawal1", *_TABLES)
ROW_LIMIT = 10_000
_CLICKS = (
    "impression", "url_hash", "ad_id", "advertiser_id", "depth", "position", "query_id",
    "keyword_id", "title_id", "description_id", "user_id",
)  # fmt: skip
_NEW_PLOT = re.compile(r"Plotly\.newPlot\(\s*[\"'][^\"']+[\"'],\s*")


def load(folder: Path, name: str) -> Table:
    """Load a table of `NAMES`: at most 10,000 rows, complete ones, and two classes."""
    if name == "bank-marketing":
        return tables.load("Bank Marketing")
    if name == "Agrawal1":
        return _agrawal()
    source = _TABLES[name]
    raw = _read(folder / source["repository"] / source["path"], source["sha256"])
    if name == "compas-two-years":
        return _sampled(*_compas(raw))
    names = raw.column_names[:-1]
    as_text = source.get("text") == "all"
    columns = [_column(raw[name], as_text) for name in names]
    target = _classes(raw.columns[-1], source.get("positive"))
    numbers = [column for column in columns if column.dtype == float]
    known = ~np.isnan(numbers).any(axis=0) if numbers else np.full(len(target), True)
    return _sampled(names, [column[known] for column in columns], target[known])


def published(folder: Path, name: str) -> tuple[list[str], Matrix]:
    """Read a plot: names of features, and their coordinates (n_features, 2)."""
    source = _SOURCES["plots"]
    path = folder / source["repository"] / source["folder"] / f"{name}.html"
    text = path.read_text(encoding="utf-8")
    start = _NEW_PLOT.search(text)
    if start is None:
        raise ValueError(f"{path} has no plot")
    drawn, _ = json.JSONDecoder().raw_decode(text[start.end() :])
    # The last two points, at the origin, only make the scale of colors symmetric.
    vectors = np.array([drawn[0]["y"], drawn[0]["x"]], dtype=float).T[:-2]
    return drawn[0]["hovertext"][:-2], vectors


def position(names: Sequence[str], name: str) -> int:
    """Return where a plot's feature is in the table.

    Copies that keep no names have V1, V2, ... in the order of the original.
    """
    lowered = [one.lower() for one in names]
    if name.lower() in lowered:
        return lowered.index(name.lower())
    if re.fullmatch(r"V\d+", name):
        return int(name[1:]) - 1
    return _CLICKS.index(name)


def digest(folder: Path, name: str) -> str:
    """Return the digest of a plot's file."""
    source = _SOURCES["plots"]
    path = folder / source["repository"] / source["folder"] / f"{name}.html"
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read(path: Path, sha256: str) -> arrow.Table:
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(f"{path} is not the file that was compared with")
    if path.suffix == ".arff":
        content = _without_header(content.decode())
    kept = arrow_csv.ConvertOptions(null_values=["?", ""], strings_can_be_null=True)
    return arrow_csv.read_csv(io.BytesIO(content), convert_options=kept)


def _without_header(text: str) -> bytes:
    """Make an ARFF file a CSV file."""
    head, rows = re.split(r"^@data\s*$", text, maxsplit=1, flags=re.MULTILINE | re.IGNORECASE)
    names = re.findall(r"^@attribute\s+(\S+)", head, flags=re.MULTILINE | re.IGNORECASE)
    lines = [line.strip() for line in rows.splitlines() if line.strip() and line[0] != "%"]
    values = [re.sub(r"[,\s]+", ",", line).strip(",") for line in lines]
    return "\n".join([",".join(names), *values]).encode()


def _column(column: Any, as_text: bool) -> Array:
    values = column.to_numpy()
    if as_text or values.dtype == object:
        return np.array([str(value) for value in values], dtype=object)
    return np.asarray(values, dtype=float)


def _classes(column: Any, positive: str | None) -> Array:
    values = column.to_numpy()
    if positive == "above mean":
        values = values > values.mean()
    elif positive is not None:
        values = values == positive
    named: Array = values.astype(str)
    return named


def _sampled(names: list[str], columns: list[Array], target: Array) -> Table:
    """Draw rows as bench/data does: without replacement, in their order."""
    count = len(target)
    kept = np.arange(count)
    if count > ROW_LIMIT:
        kept = np.sort(np.random.default_rng(0).choice(count, ROW_LIMIT, replace=False))
    return Table(tuple(names), tuple(column[kept] for column in columns), target[kept])


def _compas(raw: arrow.Table) -> tuple[list[str], list[Array], Array]:
    """Select and encode as OpenML's copy does: ProPublica's rules, and two races."""
    found = {name: raw.column(i).to_numpy() for i, name in reversed([*enumerate(raw.column_names)])}
    days = found["days_b_screening_arrest"].astype(float)
    kept = (np.abs(days) <= 30) & (found["is_recid"] != -1) & (found["c_charge_degree"] != "O")
    kept &= np.isin(found["race"].astype(str), ["African-American", "Caucasian"])
    data = {name: values[kept] for name, values in found.items()}
    names = ["age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"]
    columns = [data[name].astype(float) for name in names]
    for name, value, told in (
        ("c_charge_degree", "F", "F"),
        ("c_charge_degree", "M", "M"),
        ("sex", "Male", ""),
        ("age_cat", "25 - 45", "25-45"),
        ("age_cat", "Greater than 45", "Greaterthan45"),
        ("age_cat", "Less than 25", "Lessthan25"),
        ("race", "African-American", "African-American"),
        ("race", "Caucasian", "Caucasian"),
    ):
        names.append(f"{name}_{told}" if told else name)
        columns.append((data[name] == value) * 1.0)
    return names, columns, data["two_year_recid"].astype(str)


def _agrawal() -> Table:
    """Draw people, and class A: younger than 40, or 60 and older.

    R. Agrawal, T. Imielinski, A. Swami (1993), "Database Mining: A Performance Perspective",
    IEEE Transactions on Knowledge and Data Engineering 5(6), 914-925, function 1.
    """
    random = np.random.default_rng(0)
    count = ROW_LIMIT
    salary = random.uniform(20_000, 150_000, count)
    zipcode = random.integers(0, 9, count)
    columns = {
        "salary": salary,
        "commission": np.where(salary >= 75_000, 0, random.uniform(10_000, 75_000, count)),
        "age": random.integers(20, 81, count).astype(float),
        "hvalue": (9 - zipcode) * 100_000 * random.uniform(0.5, 1.5, count),
        "hyears": random.integers(1, 31, count).astype(float),
        "loan": random.uniform(0, 500_000, count),
        "elevel": random.integers(0, 5, count).astype(str).astype(object),
        "car": random.integers(1, 21, count).astype(str).astype(object),
        "zipcode": zipcode.astype(str).astype(object),
    }
    target = (columns["age"] < 40) | (columns["age"] >= 60)
    return Table(tuple(columns), tuple(columns.values()), target.astype(str))
