"""Registry of the clients under test: one file each in runners/."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

from harness import Runner

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]


@cache
def registered() -> dict[str, Runner]:
    """Return the clients by the names of their files."""
    return {path.stem: _read(path) for path in sorted((HERE / "runners").glob("*.json"))}


def _read(path: Path) -> Runner:
    """Put a guard before the program: what is missing should tell how it is made."""
    told = json.loads(path.read_text())
    command = [str(CHECKOUT / word) if "/" in word else word for word in told["command"]]
    guard = (sys.executable, str(HERE / "guard.py"), told["build"])
    return Runner(told["name"], (*guard, *command), frozenset(told["lacks"]))
