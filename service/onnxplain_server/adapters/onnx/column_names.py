"""Column names of a matrix input, from the model's metadata or the input's doc_string."""

from __future__ import annotations

import ast
import json
from collections import Counter
from typing import NamedTuple

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.core.table import listed

_KEYS = (
    *("feature_names", "feature_names_in_", "feature_name", "feature_columns", "feature_list"),
    *("features", "column_names", "columns", "input_features", "input_feature_names"),
)
_TEXT_LIMIT = 1_000_000


class CarriedNames(NamedTuple):
    """Names of columns that a model carries: those to use, or those that are doubted, and why."""

    names: tuple[str, ...] = ()
    doubted: tuple[str, ...] = ()
    doubt: str = ""


def column_names(graph: Graph, width: int | None) -> CarriedNames:
    """Read the names of the columns of a model's only input.

    Converters write none; deployment tools add them as metadata. A list counts if it has one
    distinct name per column of the model; otherwise it may name something else, such as the
    columns before encoding, and is doubted.

    Parameters
    ----------
    width : int or None
        Declared width of the input; None accepts any length.
    """
    entries = {entry.key.lower(): entry.value for entry in graph.model.metadata_props}
    found = [
        (f"Metadata {key!r} of the model", _names(entries[key])) for key in _KEYS if key in entries
    ]
    found.append(("The doc_string of the input", _quoted(graph.inputs[0].doc_string)))
    doubts = []
    for place, names in found:
        if not names or not _are_text(names):
            continue
        doubt = _doubt(names, width)
        if not doubt:
            return CarriedNames(names)
        doubts.append(CarriedNames((), names, f"{place} {doubt}"))
    # A list of one name for each column says more than one of another length.
    doubts.sort(key=lambda each: len(each.doubted) != width)
    return doubts[0] if doubts else CarriedNames()


def _are_text(names: tuple[str, ...]) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for name in names for letter in name)


def _doubt(names: tuple[str, ...], width: int | None) -> str:
    """Tell why names do not tell each column; empty where they do."""
    if len(names) != (width or len(names)):
        return f"has {len(names)} name{'s' * (len(names) > 1)} for {width} columns"
    if not all(names):
        return f"has an empty name in place {names.index('') + 1}"
    repeated = tuple(name for name, count in Counter(names).items() if count > 1)
    return f"has {listed(repeated, 3)} more than once" if repeated else ""


def _names(text: str) -> tuple[str, ...]:
    """Parse a list in JSON or Python syntax, or names separated by commas or lines."""
    if len(text) > _TEXT_LIMIT or not text.strip():
        return ()
    if text.strip()[:1] in {"[", "(", "{"}:
        return _quoted(text)
    separator = "\n" if "\n" in text.strip() else ","
    return tuple(part.strip() for part in text.strip().split(separator))


def _quoted(text: str) -> tuple[str, ...]:
    if len(text) > _TEXT_LIMIT or text.strip()[:1] not in {"[", "("}:
        return ()
    for parse in (json.loads, ast.literal_eval):
        try:
            names = parse(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
            return tuple(names)
    return ()
