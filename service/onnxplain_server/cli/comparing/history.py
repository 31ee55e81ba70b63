"""History of a watch: kept answers in a folder, one file for each run, named by its time in UTC."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from onnxplain_server.cli.failure import CommandError

_FORMAT = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(r"[0-9]{8}T[0-9]{6}Z\.json")


class KeptRun(NamedTuple):
    """A run whose answer is kept: its time in UTC, and its file."""

    at: datetime
    path: Path


def time_name(at: datetime) -> str:
    """Return a time of UTC as names of files have it: 20261201T060000Z."""
    # Of years before 1000, strftime leaves out zeros on some systems.
    return f"{at.year:04}{at.strftime(_FORMAT[2:])}"


@dataclass(frozen=True, slots=True)
class WatchHistory:
    """Kept answers in a folder. Files of other names are not touched.

    Attributes
    ----------
    folder : Path
    """

    folder: Path

    def make(self) -> None:
        """Make the folder, if there is none; FILE_UNWRITABLE where that fails."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot make {self.folder}: {error.strerror}"
            raise CommandError("FILE_UNWRITABLE", message) from None

    def runs(self) -> Sequence[KeptRun]:
        """Return the runs, the oldest first."""
        found = (_run(path) for path in self.folder.iterdir() if _NAME.fullmatch(path.name))
        return sorted(run for run in found if run)

    def path(self, at: datetime) -> Path:
        """Return the file of a run."""
        return self.folder / f"{time_name(at)}.json"

    def newest_before(self, at: datetime) -> KeptRun | None:
        """Return the last run before a time, so that one that is repeated is not its reference."""
        return next((run for run in reversed(self.runs()) if run.at < at), None)

    def prune(self, count: int, spared: str | None) -> None:
        """Remove all but the newest runs, and a file that is spared; else FILE_UNWRITABLE."""
        for run in self.runs()[:-count]:
            if spared and Path(spared).exists() and run.path.samefile(spared):
                continue
            try:
                run.path.unlink(missing_ok=True)
            except OSError as error:
                message = f"cannot remove {run.path}: {error.strerror}"
                raise CommandError("FILE_UNWRITABLE", message) from None


def _run(path: Path) -> KeptRun | None:
    """Return the run of a file; None where its digits are no time."""
    try:
        at = datetime.strptime(path.stem, _FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None
    return KeptRun(at, path)
