"""Output formats of commands."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TypeVar


class Output(Enum):
    """Output formats of an answer."""

    JSON = "json"
    TABLE = "table"
    HTML = "html"


class DescriptionOutput(Enum):
    """Output formats of a description."""

    JSON = "json"
    TABLE = "table"


class RowsOutput(Enum):
    """Output formats of rows."""

    JSON = "json"
    TABLE = "table"
    CSV = "csv"


class PlotFormat(Enum):
    """Output formats of a plot."""

    VEGA_LITE = "vega-lite"
    SVG = "svg"
    PNG = "png"
    HTML = "html"


DEFAULT_OUTPUT = "Output format.  [default: table in a terminal; json in a pipe or a file]"
DEFAULT_FILE_OUTPUT = (
    "Output format.  [default: overview in a terminal; html in a file of that ending; else json]"
)

_Form = TypeVar("_Form", bound=Enum)

_OTHER_ENDINGS = {"htm": "html", "json": PlotFormat.VEGA_LITE.value}
"""Formats by endings that are not called like them."""


def of_ending(kind: type[_Form], output_file: Path | None) -> _Form | None:
    """Return the format that the ending of a file means; None where it means none of its kind."""
    ending = output_file.suffix[1:].lower() if output_file else ""
    meant = (ending, _OTHER_ENDINGS.get(ending))
    return next((form for form in kind if form.value in meant), None)


def is_for_terminal(output_file: Path | None) -> bool:
    """Return whether output goes to a terminal."""
    return output_file is None and sys.stdout.isatty()
