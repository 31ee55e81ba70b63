"""Paths of the checkout, and programs of environments other than this one."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PEER = ROOT / ".venv-peer" / "bin"
"""Programs of the environment with what the speed table compares with."""
R_PYTHON = PEER / "python"
"""Python that R calls: Debian's reticulate reads no arrays of NumPy 2."""
