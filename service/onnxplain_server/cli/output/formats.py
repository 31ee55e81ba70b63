"""Output formats of commands."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path


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


def is_for_terminal(output_file: Path | None) -> bool:
    """Return whether output goes to a terminal."""
    return output_file is None and sys.stdout.isatty()
