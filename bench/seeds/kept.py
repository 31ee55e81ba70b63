"""Kept results: numbers that a script computed, with how it was made."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

_FOLDER = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Result:
    """What one script made for one row or several.

    Attributes
    ----------
    values
        Numbers by name.
    errors
        Standard errors of the differences from the seed's numbers, by the same names.
    claims
        Whether each statement holds, computed from the numbers.
    seed
        Of all that is random.
    rows
        What was explained: table, rows, model, in a line.
    packages
        Names of packages whose versions matter, beside onnxplain.
    command, versions
        Filled in by `keep`.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    claims: Mapping[str, bool] = field(default_factory=dict)
    seed: int | None = None
    rows: str = ""
    packages: tuple[str, ...] = ()
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


def read_results(method: str) -> dict[str, Result]:
    """Read what is kept of a method, by key."""
    path = _FOLDER / f"{method}.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {key: Result(**{**one, "packages": tuple(one["packages"])}) for key, one in kept.items()}


def keep(method: str, makers: Mapping[str, Callable[[], Result]]) -> None:
    """Run the makers named on the command line, or all; keep what each returns, and no other."""
    wanted = sys.argv[1:] or list(makers)
    for key in wanted:
        if key not in makers:
            sys.exit(f"no {key}: one of {', '.join(makers)}")
        made = asdict(makers[key]())
        made["command"] = f"python -m bench.seeds.{method} {key}"
        names = ("onnxplain-server", *made["packages"])
        made["versions"] = {name: importlib.metadata.version(name) for name in names}
        known = {key: asdict(one) for key, one in read_results(method).items() if key in makers}
        results = known | {key: made}
        text = json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False)
        (_FOLDER / f"{method}.json").write_text(text + "\n", encoding="utf-8")
        print(key)
