"""Run the documented examples, and write the numbers and pictures that their pages show.

The pages of docs/examples hold commands, which are run as they stand, and places for the numbers
that the commands leave in .demo:

    <!-- numbers: ANSWER[,ANSWER...] STATISTIC share|size -->
    <!-- numbers: ANSWER curves -->
    <!-- numbers: ANSWER permutation -->
    <!-- numbers: ANSWER swarm CLASS -->
    ...
    <!-- end -->

Numbers that hstats publishes for the same statistic, from hstats.json and hstats_importances.json,
follow in parentheses.

Usage: python examples/run.py [--check FOLDER]

With --check, commands run in FOLDER, answers stay there, and nothing else is written: it fails
where a page shows other numbers than these.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGES = HERE.parent / "docs" / "examples"
IMAGES = HERE.parent / "docs" / "images"
ANSWERS = ".demo"
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"(<!-- numbers: (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:e-?\d+)?")
TOLERANCE = 0.01  # of a shown number: machines round float32 sums otherwise

Rows = list[tuple[str, list[str]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--check", type=Path, metavar="FOLDER")
    folder: Path | None = parser.parse_args().check
    if folder:
        stale = [page.name for page in pages() if not agrees(page, run(page, folder))]
        sys.exit(f"run `make examples`: numbers changed in {', '.join(stale)}" if stale else 0)
    for page in pages():
        with tempfile.TemporaryDirectory() as name:
            page.write_text(filled(page, run(page, Path(name))), encoding="utf-8")
            for picture in (Path(name) / "docs" / "images").iterdir():
                shutil.copyfile(picture, IMAGES / picture.name)
        print(page.name)


def pages() -> list[Path]:
    return sorted(PAGES.glob("*.md"))


def run(page: Path, folder: Path) -> dict[str, Any]:
    """Run the commands of a page in a folder that looks like the project, and read the answers."""
    for made in (ANSWERS, "docs/images"):
        (folder / made).mkdir(parents=True, exist_ok=True)
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(HERE)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for commands in COMMANDS.findall(page.read_text(encoding="utf-8")):
        script = ["bash", "-euo", "pipefail", "-c", commands]
        subprocess.run(script, cwd=folder, env={**os.environ, "PATH": path}, check=True)  # noqa: S603  # our own pages
    return {file.stem: json.loads(file.read_bytes()) for file in (folder / ANSWERS).glob("*.json")}


def filled(page: Path, answers: Mapping[str, Any]) -> str:
    """Return the text of a page with these answers in its places."""

    def fill(place: re.Match[str]) -> str:
        begin, wanted, end = place.groups()
        return f"{begin}\n{table(answers, *wanted.split())}\n{end}"

    return PLACE.sub(fill, page.read_text(encoding="utf-8"))


def agrees(page: Path, answers: Mapping[str, Any]) -> bool:
    """Whether a page shows these answers: the same words, and numbers that differ by rounding."""
    shown, made = page.read_text(encoding="utf-8"), filled(page, answers)
    return NUMBER.sub("#", shown) == NUMBER.sub("#", made) and all(
        math.isclose(value(a), value(b), rel_tol=TOLERANCE)
        for a, b in zip(NUMBER.findall(shown), NUMBER.findall(made), strict=True)
    )


def value(text: str) -> float:
    return float(text.replace(",", ""))


def table(answers: Mapping[str, Any], names: str, statistic: str, form: str = "") -> str:
    """Lay out numbers of answers as Markdown, the largest first."""
    if statistic == "swarm":
        header, rows = ["importance", "best weight", "score"], list(effects(answers[names], form))
    elif statistic == "permutation":
        header, rows = importances(answers[names], names)
    elif statistic == "curves":
        header, rows = ["first", "last", "change"], list(curves(answers[names]))
    else:
        header, rows = statistics(answers, names.split(","), statistic, form)
    lines = [["", *header], ["---", *["---:"] * len(header)], *([name, *row] for name, row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def statistics(
    answers: Mapping[str, Any], names: Sequence[str], statistic: str, form: str
) -> tuple[list[str], Rows]:
    """Return a column per answer and output, and a row per group of features."""
    found = [results(answers[name], "interactions")[0] for name in names]
    columns = [read(result, statistic, form) for result in found]
    published = [hstats(name, form, statistic) for name in names]
    keys = sorted(columns[0], key=lambda key: -sum(columns[0][key]))
    rows = [
        (
            key or "all features",
            [
                cell
                for ours, theirs in zip(columns, published, strict=True)
                for cell in cells(ours[key], theirs.get(key))
            ],
        )
        for key in keys
    ]
    labels = (
        found[0]["outputNames"] if len(names) == 1 else [name.replace("-", " ") for name in names]
    )
    return [
        f"{label} (hstats)" if theirs else label
        for label, theirs in zip(labels, published * len(labels), strict=False)
    ], rows


def effects(answer: Mapping[str, Any], class_name: str) -> Iterator[tuple[str, list[str]]]:
    """Tell what moving each feature of a class does, the most important first."""
    (result,) = results(answer, "swarm")
    of_class = [effect for effect in result["effects"] if effect["className"] == class_name]
    for effect in sorted(of_class, key=lambda effect: -effect.get("importance", 0.0)):
        numbers = [effect.get(name, 0.0) for name in ("importance", "bestWeight", "bestScore")]
        yield effect["feature"], [f"{number:.3g}" for number in numbers]


def importances(answer: Mapping[str, Any], name: str) -> tuple[list[str], Rows]:
    """Return permutation importances with standard errors, the most important first."""
    (found,) = results(answer, "permutationImportance")
    published = json.loads((HERE / "hstats_importances.json").read_text(encoding="utf-8"))
    theirs = published.get(name, {})
    rows = [
        (
            " × ".join(entry["features"]),
            [
                *cells(entry["values"], [theirs[entry["features"][0]]] if theirs else None),
                *(f"{error:.2g}" for error in entry["standardErrors"]),
            ],
        )
        for entry in sorted(found["importances"], key=lambda entry: -entry["values"][0])
    ]
    return ["importance (hstats)" if theirs else "importance", "standard error"], rows


def results(answer: Mapping[str, Any], method: str) -> list[Any]:
    return [found[method] for found in answer["explanations"] if method in found]


def read(result: Mapping[str, Any], statistic: str, form: str) -> dict[str, list[float]]:
    """Return shares, or sizes in the unit of the output, by features."""
    entries = [result["total"]] if statistic == "total" else result[statistic]
    return {
        " × ".join(entry.get("features", [])): entry["values"]
        if form == "share"
        else [math.sqrt(numerator) for numerator in entry["numerators"]]
        for entry in entries
    }


def hstats(name: str, form: str, statistic: str) -> dict[str, list[float]]:
    """Return what hstats publishes; empty where it publishes nothing."""
    published = json.loads((HERE / "hstats.json").read_text(encoding="utf-8"))
    found: dict[str, list[float]] = published.get(name, {}).get(form, {}).get(statistic, {})
    return found


def cells(ours: Sequence[float], theirs: Sequence[float] | None) -> list[str]:
    if theirs is None:
        return [f"{number:.3g}" for number in ours]
    return [f"{a:.3g} ({b:.3g})" for a, b in zip(ours, theirs, strict=True)]


def curves(answer: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield how far each curve of one feature and one output rises or falls, by group."""
    for result in results(answer, "partialDependence"):
        for curve in result["curves"]:
            if len(curve["features"]) == 1:
                first, last = curve["values"][0], curve["values"][-1]
                ends = [f"{first:.2f}", f"{last:.2f}", f"{last - first:.2f}"]
                yield curve.get("group", "") or "all", ends


if __name__ == "__main__":
    main()
