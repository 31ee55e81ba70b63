"""Column names of a matrix input, from the model's metadata or the input's doc_string."""

from __future__ import annotations

import ast
import json

from onnxplain_server.adapters.onnx.analysis.graph import Graph

_KEYS = (
    *("feature_names", "feature_names_in_", "feature_name", "feature_columns", "feature_list"),
    *("features", "column_names", "columns", "input_features", "input_feature_names"),
)
_TEXT_LIMIT = 1_000_000


def column_names(graph: Graph, width: int | None) -> tuple[str, ...]:
    """Read the names of the columns of a model's only input.

    Converters write none; deployment tools add them as metadata. A list counts if it has one
    distinct name per column of the model; otherwise it names something else, such as the
    columns before encoding.

    Parameters
    ----------
    width : int or None
        Declared width of the input; None accepts any length.

    Returns
    -------
    tuple of str
        In the model's order; empty if it has none.
    """
    entries = {entry.key.lower(): entry.value for entry in graph.model.metadata_props}
    texts = [entries[key] for key in _KEYS if key in entries]
    for names in (*map(_names, texts), _quoted(graph.inputs[0].doc_string)):
        if len(names) == (width or len(names)) and _are_names(names):
            return names
    return ()


def _are_names(names: tuple[str, ...]) -> bool:
    is_text = not any("\ud800" <= letter <= "\udfff" for name in names for letter in name)
    return is_text and all(names) and len(set(names)) == len(names)


def _names(text: str) -> tuple[str, ...]:
    """Parse a list in JSON or Python syntax, or names separated by commas or lines."""
    if len(text) > _TEXT_LIMIT:
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
