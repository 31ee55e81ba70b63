"""Flags of `watch` that `explain` has not, or has with other defaults."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from onnxplain_server.cli.comparing.compare_flags import OWN


def parse_time(text: str) -> datetime:
    """Read a time as ISO 8601 has it; without an offset it is of UTC."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no time like 2026-12-01T06:00:00Z") from None
    try:
        whole = time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)
    except OverflowError:
        raise typer.BadParameter(f"{text!r} is beyond the years of UTC") from None
    return whole.replace(microsecond=0)


ARGUMENTS: Mapping[str, Any] = {
    "model": Annotated[str, typer.Argument(metavar="MODEL", help="Model file, or its URI.")],
    "table": Annotated[
        str, typer.Argument(metavar="TABLE", help="Newest rows: a file, or the URI of one.")
    ],
}
WATCH: Mapping[str, Any] = {
    "folder": Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Folder of the kept answers, one file for each run."),
    ],
    "reference": Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Kept answer to compare with.  [default: the newest one in the folder]",
        ),
    ],
    "at": Annotated[
        Any,
        typer.Option(
            parser=parse_time,
            metavar="TIME",
            help="Time of the run, in the names of files and in metrics.  [default: now]",
        ),
    ],
    "keep": Annotated[
        int | None,
        typer.Option(min=1, metavar="INTEGER", help="Newest answers to keep.  [default: all]"),
    ],
    "result_prefix": Annotated[
        str | None,
        typer.Option(
            metavar="URI",
            help="Prefix of an address that each answer is written to as well, with what has "
            "changed, as serialised ExplainResponse: PREFIX, the time, .binpb.",
        ),
    ],
    "name": Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name of the watch in metrics.  [default: name of the model]"
        ),
    ],
    "interval": Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="Time between runs, as a metric: alerts tell where a watch has not run for two.",
        ),
    ],
    "metrics_file": Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write metrics in the text format of Prometheus, as for the textfile collector of "
            "node_exporter.",
        ),
    ],
    "push_gateway": Annotated[
        str | None, typer.Option(metavar="URL", help="Push metrics to this Pushgateway.")
    ],
    "metric_features": Annotated[
        int,
        typer.Option(
            min=1, max=100, metavar="INTEGER", help="Features with metrics: the most important."
        ),
    ],
    **{name: hint for name, hint in OWN.items() if name not in {"table", "table_b"}},
}
DEFAULTS: Mapping[str, Any] = {"metric_features": 10, "folder": ...}
