"""Flags of `compare` that `explain` has not, or has with other defaults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from onnxplain.v1.explanation_comparison_pb2 import ComparisonOptions

from onnxplain_server.cli.output.formats import Output
from onnxplain_server.cli.requests.parsers import names_of, one_of

COMPARED_METHODS = (
    *("interactions", "partial_dependence", "accumulated_local_effects", "average_loss"),
    *("permutation_importance", "firm", "attributions"),
)
"""Methods whose statistics have replicates of the rows."""
_SIDE_HELP = "JSON output of `explain --replicates`; or a model file, which is explained."
SIDES: Mapping[str, Any] = {
    name: Annotated[str, typer.Argument(metavar=name.upper(), help=_SIDE_HELP)]
    for name in ("a", "b")
}
OWN: Mapping[str, Any] = {
    "table": Annotated[
        str | None, typer.Option(metavar="FILE", help="Rows that models are explained on.")
    ],
    "table_b": Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Rows of B alone.  [default: those of --table]"),
    ],
    "confidence_level": Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Confidence level of intervals.  [default: 0.95]"),
    ],
    "correction": Annotated[
        str | None,
        typer.Option(
            parser=one_of(ComparisonOptions.Correction),
            metavar="|".join(names_of(ComparisonOptions.Correction)),
            help="Correction of p-values for the number of tests.  [default: HOLM]",
        ),
    ],
    "leading_count": Annotated[
        int | None,
        typer.Option(metavar="INTEGER", help="Leading features of a ranking.  [default: 5]"),
    ],
    "rules": Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="TOML file of rules: exit code 4 where one fails, 3 where one is undecided.",
        ),
    ],
    "junit_xml": Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the rules as JUnit's XML.")
    ],
    "markdown": Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write what has changed as Markdown.")
    ],
    "output": Annotated[
        Output | None,
        typer.Option(
            help="Output format.  [default: table in a terminal; html in a file of that ending; "
            "else json]"
        ),
    ],
}
OTHERWISE: Mapping[str, Any] = {
    "method": Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Method to compare, for models; repeatable: "
            f"{', '.join(COMPARED_METHODS)}.  [default: interactions, with a target also "
            "average_loss]",
        ),
    ],
    "budget_seconds": Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Time that the methods may take, about, for each side; what does not fit is on "
            "fewer rows.  [default: no limit]",
        ),
    ],
}
"""Flags of `explain` with the methods and defaults of this command."""
