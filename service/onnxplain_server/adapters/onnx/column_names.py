"""Names of a matrix's columns, from the model's metadata or the description of its input."""

from __future__ import annotations

import ast
import json

from onnxplain_server.adapters.onnx.analysis.graph import Graph

_KEYS = (
    *("feature_names", "feature_names_in_", "feature_name", "feature_columns", "feature_list"),
    *("features", "column_names", "columns", "input_features", "input_feature_names"),
)
_MOST_CHARACTERS = 1_000_000


def column_names(graph: Graph, width: int | None) -> tuple[str, ...]:
    """Read the names of the columns of a model's only input.

    Converters write none; programs that deploy models add them as metadata. A list counts where
    it has as many names as the model has columns, and none twice: otherwise it names something
    else, such as the columns before they were encoded.

    Parameters
    ----------
    width : int or None
        Columns that the input declares; None where any list counts.

    Returns
    -------
    tuple of str
        In the model's order; empty where it carries none.
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
    """Read a list in JSON or as Python writes it, or names between commas or on lines."""
    if len(text) > _MOST_CHARACTERS:
        return ()
    if text.strip()[:1] in {"[", "(", "{"}:
        return _quoted(text)
    separator = "\n" if "\n" in text.strip() else ","
    return tuple(part.strip() for part in text.strip().split(separator))


def _quoted(text: str) -> tuple[str, ...]:
    if len(text) > _MOST_CHARACTERS or text.strip()[:1] not in {"[", "("}:
        return ()
    for reading in (json.loads, ast.literal_eval):
        try:
            names = reading(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
            return tuple(names)
    return ()
