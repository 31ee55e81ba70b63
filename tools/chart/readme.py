"""The table of values in the README of the chart, from the comments of values.yaml.

A comment above a key says what it is for; `## Title` begins a section. A key whose children have
comments is a group and has no line of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

MARK = "<!-- From here on written by `make chart-files`: change values.yaml, not this page. -->"

_HEAD = "| Value | Default | Meaning |\n|---|---|---|"


@dataclass(frozen=True)
class Row:
    """One value: its path with dots, where its key stands, its default as JSON."""

    path: str
    line: int
    default: str


def page(before: str, values: str) -> str:
    """Return the README: what stands before the mark, then all values.

    Raises
    ------
    ValueError
        Where a value has no comment.
    """
    lines = values.splitlines()
    tree = yaml.compose(values, yaml.SafeLoader)
    if not isinstance(tree, yaml.MappingNode):
        raise TypeError("values.yaml: no mapping")
    parts = [before.partition(MARK)[0] + MARK]
    section = ""
    for row in _rows(tree, lines, ""):
        title = _section(lines, row.line)
        if title != section:
            section = title
            parts.append(f"\n## {title}\n\n{_HEAD}")
        parts.append(f"| `{row.path}` | `{row.default}` | {_comment(lines, row.line)} |")
    return "\n".join(parts) + "\n"


def _rows(tree: yaml.MappingNode, lines: list[str], above: str) -> Iterator[Row]:
    for key, value in tree.value:
        path = f"{above}{key.value}"
        if _is_group(value, lines):
            yield from _rows(value, lines, f"{path}.")
        elif not _comment(lines, key.start_mark.line):
            raise ValueError(f"values.yaml: {path} has no comment above it")
        else:
            plain = yaml.safe_load(yaml.serialize(value))
            yield Row(path, key.start_mark.line, json.dumps(plain))


def _is_group(value: yaml.Node, lines: list[str]) -> bool:
    return isinstance(value, yaml.MappingNode) and any(
        _comment(lines, key.start_mark.line) or _is_group(child, lines)
        for key, child in value.value
    )


def _comment(lines: list[str], line: int) -> str:
    """Return the comment right above a line, in one line."""
    found: list[str] = []
    while line and re.match(r"\s*# ", lines[line - 1]):
        line -= 1
        found.insert(0, lines[line].strip().removeprefix("# "))
    return " ".join(found)


def _section(lines: list[str], line: int) -> str:
    return next(one.removeprefix("## ") for one in reversed(lines[:line]) if one.startswith("## "))
