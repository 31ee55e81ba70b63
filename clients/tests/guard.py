"""Guard of client programs: runs one, or names its build command: `guard.py BUILD COMMAND...`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def main() -> None:
    """Become the program."""
    build, *command = sys.argv[1:]
    program = command[0]
    missing = [word for word in command[:2] if Path(word).is_absolute() and not Path(word).exists()]
    if missing or shutil.which(program) is None:
        sys.exit(f"{(missing or [program])[0]} is missing: run `{build}`")
    os.execvp(program, command)  # noqa: S606 - the command is the project's own


if __name__ == "__main__":
    main()
