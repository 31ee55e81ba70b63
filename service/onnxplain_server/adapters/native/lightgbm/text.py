"""Text form of a LightGBM model: `Booster.save_model`.

A header of lines `name=values`, a block of such lines for each tree, and behind them importances
and parameters of the training. Python's package appends categories of pandas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import orjson

from onnxplain_server.adapters.native.faults import invalid, quoted, unsupported
from onnxplain_server.adapters.native.lightgbm.parts import (
    CATEGORICAL,
    LINEAR,
    Header,
    LightGBMTree,
    Range,
)
from onnxplain_server.core.arrays import Indices, Vector

_TREE, _PANDAS, _CATEGORICAL = b"Tree=", b"pandas_categorical:", b"[categorical_feature: "
_ENDS = (b"end of trees", b"feature importances:", b"feature_importances:")
"""Lines behind the trees, of which files of some versions have the second only."""
_LIST_LIMIT = 2**31


class LightGBMBlock:
    """Lines `name=values` of the header or of a tree.

    Parameters
    ----------
    lines : sequence of bytes
        Of equal names the last one counts, as in LightGBM.
    place : str
        For messages.

    Raises
    ------
    ExplainError
        INVALID_MODEL that names the place, where a value is missing or of another type: all
        methods.
    """

    def __init__(self, lines: Sequence[bytes], place: str) -> None:
        self._values = {name: values for name, _, values in (ln.partition(b"=") for ln in lines)}
        self._place = place

    def __contains__(self, name: str) -> bool:
        return name.encode() in self._values

    def text(self, name: str) -> str:
        """Return the text behind a name."""
        try:
            return self._bytes(name).decode()
        except UnicodeDecodeError:
            raise self.fault(name, "is no UTF-8") from None

    def integer(self, name: str, *, low: int = 0) -> int:
        """Return one integer of at least `low`."""
        value = int(self.integers(name, 1)[0])
        if value < low:
            raise self.fault(name, f"is {value}, which is below {low}")
        return value

    def integers(self, name: str, length: int | None = None) -> Indices:
        """Return integers in 33 bits."""
        try:
            values = [int(word) for word in self._words(name, length)]
        except ValueError:
            raise self.fault(name, "has a value that is no integer") from None
        if values and not (min(values) >= -_LIST_LIMIT and max(values) < 2 * _LIST_LIMIT):
            raise self.fault(name, "has an integer of more than 32 bits")
        return np.array(values, dtype=np.int64)

    def numbers(self, name: str, length: int) -> Vector:
        """Return numbers, which may be infinite."""
        try:
            return np.array([float(word) for word in self._words(name, length)])
        except ValueError:
            raise self.fault(name, "has a value that is no number") from None

    def fault(self, name: str, what: str) -> Exception:
        """Build INVALID_MODEL about a line."""
        return invalid(f"The model's {name} of {self._place} {what}.")

    def _bytes(self, name: str) -> bytes:
        if name not in self:
            raise self.fault(name, "is missing")
        return self._values[name.encode()]

    def _words(self, name: str, length: int | None) -> list[bytes]:
        words = self._bytes(name).split()
        if length is not None and len(words) != length:
            raise self.fault(name, f"has {len(words):,} values instead of {length:,}")
        return words


class Text(NamedTuple):
    """Model in text: its header, and the lines of each tree."""

    header: Header
    trees: Sequence[LightGBMBlock]


def parse(content: bytes) -> Text:
    """Divide a model into its parts.

    Raises
    ------
    ExplainError
        INVALID_MODEL, also for a file that ends before its trees do.
    """
    lines = content.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith(_TREE)]
    end = next((i for i, line in enumerate(lines) if line in _ENDS), None)
    if end is None:
        raise invalid("The model ends before its trees do: it has no line 'end of trees'.")
    starts = [start for start in starts if start < end]
    borders = [*starts, end]
    header = LightGBMBlock(lines[1 : borders[0]], "the header")
    if "tree_sizes" in header and len(header.integers("tree_sizes")) != len(starts):
        count = len(header.integers("tree_sizes"))
        raise invalid(f"The model has {len(starts):,} trees, and tree_sizes for {count:,}.")
    trees = [
        LightGBMBlock(lines[start + 1 : stop], f"tree {i}")
        for i, (start, stop) in enumerate(zip(starts, borders[1:], strict=True))
    ]
    return Text(_header(header, lines[end:]), trees)


def read_tree(block: LightGBMBlock) -> LightGBMTree:
    """Read a tree.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL for leaves with linear functions, else INVALID_MODEL.
    """
    if "is_linear" in block and block.integer("is_linear"):
        raise unsupported(LINEAR)
    leaf_count = block.integer("num_leaves", low=1)
    inner = leaf_count - 1
    values = block.numbers("leaf_value", leaf_count)
    if not inner:
        none = np.zeros(0, dtype=np.int64)
        return LightGBMTree(none, none, np.zeros(0), none, none, {}, values)
    decisions = block.integers("decision_type", inner)
    thresholds = block.numbers("threshold", inner)
    return LightGBMTree(
        block.integers("split_feature", inner),
        decisions,
        thresholds,
        block.integers("left_child", inner),
        block.integers("right_child", inner),
        dict(_members(block, np.flatnonzero(decisions & CATEGORICAL), thresholds)),
        values,
    )


def _members(
    block: LightGBMBlock, nodes: Indices, thresholds: Vector
) -> Iterator[tuple[int, Vector]]:
    """Yield the codes of categorical nodes, whose threshold is the number of their set of bits."""
    if not len(nodes):
        return
    count = block.integer("num_cat", low=1)
    borders = block.integers("cat_boundaries", count + 1)
    words = block.integers("cat_threshold")
    if borders[0] != 0 or np.any(np.diff(borders) < 1) or borders[-1] != len(words):
        raise block.fault("cat_boundaries", f"does not rise from 0 to {len(words):,}")
    sets = thresholds[nodes]
    if len(np.unique(sets)) < len(sets) or not np.isin(sets, np.arange(count)).all():
        raise block.fault("threshold", "does not give each categorical node a set of its own")
    for node, own in zip(nodes.tolist(), sets.astype(np.intp), strict=True):
        bits = words[borders[own] : borders[own + 1]].astype("<u4").view(np.uint8)
        yield node, np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype(np.float64)


def _header(header: LightGBMBlock, tail: Sequence[bytes]) -> Header:
    names = tuple(header.text("feature_names").split(" "))
    count = header.integer("max_feature_idx") + 1
    if len(names) != count:
        raise invalid(f"The model has {len(names):,} feature_names for {count:,} features.")
    infos = header.text("feature_infos").split(" ")
    if len(infos) != count:
        raise invalid(f"The model has {len(infos):,} feature_infos for {count:,} features.")
    code_counts = dict.fromkeys(_listed_categorical(tail, count), 0)
    code_counts |= {
        i: _code_count(header, info)
        for i, info in enumerate(infos)
        if ":" in info and info[0] != "["
    }
    single = "num_tree_per_iteration" if "num_tree_per_iteration" in header else "num_class"
    return Header(
        version=header.text("version") if "version" in header else "",
        tree_per_iteration=header.integer(single, low=1),
        objective=header.text("objective") if "objective" in header else "",
        is_average="average_output" in header,
        names=names,
        ranges={i: _range(header, info) for i, info in enumerate(infos) if info[:1] == "["},
        code_counts=code_counts,
        pandas_categories=_pandas_categories(tail),
    )


def _range(header: LightGBMBlock, info: str) -> Range:
    low, _, high = info.strip("[]").partition(":")
    try:
        return Range(float(low), float(high))
    except ValueError:
        raise header.fault("feature_infos", f"has {quoted(info)}, which is no range") from None


def _code_count(header: LightGBMBlock, info: str) -> int:
    try:
        return 1 + max(int(code) for code in info.split(":"))
    except ValueError:
        raise header.fault("feature_infos", f"has {quoted(info)}, no list of codes") from None


def _listed_categorical(tail: Sequence[bytes], count: int) -> Iterator[int]:
    """Yield the categorical features that the parameters of the training list by number."""
    for line in tail:
        if line.startswith(_CATEGORICAL):
            words = line.removeprefix(_CATEGORICAL).rstrip(b"]").split(b",")
            numbers = [int(word) for word in words if word.isdigit() and len(word) < 10]
            yield from (number for number in numbers if number < count)


def _pandas_categories(tail: Sequence[bytes]) -> Sequence[object]:
    line = next((line for line in reversed(tail) if line.startswith(_PANDAS)), None)
    if line is None:
        return ()
    try:
        lists = orjson.loads(line.removeprefix(_PANDAS))
    except orjson.JSONDecodeError:
        raise invalid("The model's pandas_categorical is broken JSON.") from None
    if lists is not None and not isinstance(lists, list):
        raise invalid("The model's pandas_categorical is no list.")
    return lists or ()
