"""Command `version`: prints the version of the server package."""

from __future__ import annotations

from importlib import metadata

import typer


def version() -> None:
    """Print the version."""
    typer.echo(f"onnxplain {metadata.version('onnxplain-server')}")
