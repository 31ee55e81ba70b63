"""Confinement of models: whether this system has it at all."""

from __future__ import annotations

import sys

UNCONFINED = "this system cannot confine models: explain only files that you trust"
"""For people, on systems without confinement."""


def can_confine() -> bool:
    """Return whether models can run in processes without files and network: on Linux alone."""
    return sys.platform == "linux"
