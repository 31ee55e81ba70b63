"""Tables of the studies: those bundled with scikit-learn, and those in bench/data."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.csv as arrow_csv
from onnxplain_server.core.arrays import Array
from sklearn import datasets
from sklearn.feature_extraction.text import CountVectorizer

DATA = Path(__file__).parents[1] / "data"
_WORDS = 1_200


class Table(NamedTuple):
    """Columns of numbers or text, and a target: numbers, or names of classes."""

    names: tuple[str, ...]
    columns: tuple[Array, ...]
    target: Array

    @property
    def is_classes(self) -> bool:
        """True if the target names classes."""
        return self.target.dtype.kind in "OU"


def load(name: str) -> Table:
    """Load a table of `NAMES`."""
    return _LOADERS[name]()


def _bundled(name: str) -> Table:
    found = getattr(datasets, f"load_{name}")()
    target = found.target if name == "diabetes" else found.target.astype(str)
    return Table(tuple(map(str, found.feature_names)), tuple(found.data.T), target)


def _read(name: str, *, classes: bool = False, without: tuple[str, ...] = ()) -> Table:
    """Read a file whose last column is the target."""
    table = arrow_csv.read_csv(DATA / f"{name}.csv.gz")
    names = [name for name in table.column_names[:-1] if name not in without]
    columns = [table[name].to_numpy() for name in names]
    columns = [
        np.array(["" if v is None else str(v) for v in column], dtype=object)
        if column.dtype == object
        else column.astype(float)
        for column in columns
    ]
    target = table[table.column_names[-1]].to_numpy()
    return Table(tuple(names), tuple(columns), target.astype(str if classes else float))


def _messages() -> Table:
    """Count the most frequent words: a column for each."""
    lines = gzip.decompress((DATA / "sms_spam.tsv.gz").read_bytes()).decode().splitlines()
    kinds, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    counter = CountVectorizer(max_features=_WORDS)
    counted = counter.fit_transform(texts).toarray().astype(float)
    names = tuple(map(str, counter.get_feature_names_out()))
    return Table(names, tuple(counted.T), np.array(kinds))


_LOADERS: dict[str, Callable[[], Table]] = {
    "iris": lambda: _bundled("iris"),
    "wine": lambda: _bundled("wine"),
    "diabetes": lambda: _bundled("diabetes"),
    "breast cancer": lambda: _bundled("breast_cancer"),
    "digits": lambda: _bundled("digits"),
    "Spambase": lambda: _read("spambase", classes=True),
    "Adult": lambda: _read("adult", classes=True),
    "Bank Marketing": lambda: _read("bank_marketing", classes=True),
    "Parkinson": lambda: _read("parkinsons", without=("motor_UPDRS",)),
    "Wine Quality, red": lambda: _read("wine_quality_red"),
    "Wine Quality, white": lambda: _read("wine_quality_white"),
    "SMS Spam": _messages,
}
NAMES = tuple(_LOADERS)
