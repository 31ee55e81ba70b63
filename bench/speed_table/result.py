"""Kept result of the speed table: result.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.speed_table import machine
from bench.speed_table.parts import BENCHMARKS, Part, read_row

PATH = Path(__file__).with_name("result.json")


@dataclass(frozen=True, slots=True)
class Machine:
    """Machine and versions that all kept parts were measured on."""

    described: str
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Result:
    """Parts by name, in the order of the page, and their machine; None before the first."""

    machine: Machine | None
    parts: Mapping[str, Part]

    def with_part(self, name: str, part: Part, measured_on: Machine) -> Result:
        """Return the result with this part in the place of a former one.

        Parts of another machine, or of other versions, are left out: they are not comparable.
        """
        kept = self.parts if measured_on == self.machine else {}
        parts = {**kept, name: part}
        return Result(measured_on, {key: parts[key] for key in BENCHMARKS if key in parts})


def this_machine() -> Machine:
    """Describe this machine."""
    return Machine(machine.described(), machine.versions())


def read_result() -> Result:
    """Read what is kept."""
    if not PATH.exists():
        return Result(None, {})
    kept = json.loads(PATH.read_text(encoding="utf-8"))
    parts = {
        name: Part(**{**part, "rows": [read_row(row) for row in part["rows"]]})
        for name, part in kept["parts"].items()
    }
    return Result(Machine(**kept["machine"]), parts)


def write_result(result: Result) -> None:
    """Keep a result."""
    PATH.write_text(json.dumps(asdict(result), indent=1, ensure_ascii=False) + "\n", "utf-8")
