"""Take models from training to their overviews, and write docs/studies/journey.md.

    python -m bench.journey [FOLDER]

trains those of `train` and of tests/journey/train.py by the environment of `make
.venv-models/.made`, those of `own` here, and asks the command about each: `onnxplain check` beside
the library's predictions, then `onnxplain explain`. FOLDER keeps the files.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from onnxplain_server.cli.failure import DIFFERS

from bench.journey import own
from bench.shared.commands import ROOT
from tools.figures import SERVER_ROOMS, stamp

PAGE = ROOT / "docs" / "studies" / "journey.md"
_TRAINER = ROOT / ".venv-models" / "bin" / "python"
_HERE = Path(__file__).parent
_TESTS = ROOT / "tests" / "journey" / "train.py"
_LEADING = "Leading features"
"""Begin of the sentence about what matters."""
_KINDS = {
    "cancer_lightgbm": "two classes, by onnxmltools",
    "cancer_network": "neural network, two classes",
    "diabetes_gaussian_process": "Gaussian process, regression",
    "diabetes_neighbours": "nearest neighbours, regression",
    "diabetes_xgboost": "regression, by onnxmltools",
    "income_logistic": "texts and numbers, logistic regression",
    "rent_forest": "texts and numbers, random forest",
    "wine_catboost": "three classes, CatBoost's own export",
    "wine_logistic": "three classes, logistic regression",
    "wine_support_vectors": "three classes, support vectors",
}
"""What the models of tests/journey are."""

_HEAD = """# From a training run to the answer

{count} models of usual kinds, trained anew, each as its users would write it: `onnxplain check`
beside the library's predictions on the rows of the training, then `onnxplain explain` without any
method, an [overview](../overview.md). The first {own_count} are trained for this page, the others
are those of the tests of a user's first minutes. `python -m bench.journey` writes this page.

{stamp} Training, check and overview are in seconds of processor time, those of commands with
their start, of a checkout that has compiled its loops before. The tests tell no time of training.

| Model | File | Check finds | Training | Check | Overview | What is said first |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Stop:
    """What became of a model."""

    kind: str
    file: str
    verdict: str
    seconds: Sequence[float | None]
    said: Sequence[str]

    def row(self) -> str:
        """Write a row of the table."""
        seconds = " | ".join("" if each is None else f"{each:.1f}" for each in self.seconds)
        said = " ".join(self.said).replace("|", "\\|")
        return f"| {self.kind} | `{self.file}` | {self.verdict} | {seconds} | {said} |"


def main() -> None:
    """Train, ask and write."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        names = _trained(folder)
        stops = [_stop(folder, name, facts) for name, facts in names.items()]
    own_count = sum(name not in _KINDS for name in names)
    head = _HEAD.format(count=len(stops), own_count=own_count, stamp=stamp(SERVER_ROOMS))
    PAGE.write_text(head + "".join(f"{stop.row()}\n" for stop in stops), encoding="utf-8")


def _trained(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return the facts of each model, once trained."""
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.glob("*.facts.json")):
        _run([_TRAINER, "-W", "ignore", _HERE / "train.py", folder])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it tells how far each is from its library
            own.train(folder)
        (folder / "tests").mkdir()
        _run([_TRAINER, "-W", "ignore", _TESTS, folder / "tests"])
        for name, kind in _KINDS.items():
            _of_tests(folder, name, kind)
    files = sorted(folder.glob("*.facts.json"), key=lambda path: _order(path.name))
    return {path.name.partition(".")[0]: json.loads(path.read_text()) for path in files}


def _order(name: str) -> tuple[bool, str]:
    return name.partition(".")[0] in _KINDS, name


def _of_tests(folder: Path, name: str, kind: str) -> None:
    """Take over a model of the tests, whose table has the predictions as a column."""
    (folder / "tests" / f"{name}.onnx").rename(folder / f"{name}.onnx")
    rows = pd.read_csv(folder / "tests" / f"{name}.csv")
    predicted = rows.pop("predicted").to_frame("p1")
    rows.to_csv(folder / f"{name}.csv", index=False)
    predicted.to_csv(folder / f"{name}.expected.csv", index=False)
    # Of three classes, the table has the probability of the second one only.
    facts = {
        "kind": kind,
        "file": f"{name}.onnx",
        "targets": ["target"],
        "is_second": name.startswith("wine"),
    }
    (folder / f"{name}.facts.json").write_text(json.dumps(facts))


def _stop(folder: Path, name: str, facts: Mapping[str, Any]) -> Stop:
    if "failure" in facts:
        return Stop(facts["kind"], "", f"not written: {facts['failure']}", (None,) * 3, ())
    model, table = folder / facts["file"], folder / f"{name}.csv"
    expected = ["--against", folder / f"{name}.expected.csv"]
    chosen = ["--outputs", "1"] if facts.get("is_second") else []
    targets = ["--target-column", ",".join(facts["targets"])] if facts["targets"] else []
    checked, check_seconds = _timed(["check", model, table, *expected, *chosen])
    explained, explain_seconds = _timed(["explain", model, table, *targets])
    return Stop(
        facts["kind"],
        facts["file"],
        _verdict(checked),
        (facts.get("seconds"), check_seconds, explain_seconds),
        _said(explained),
    )


def _timed(words: Sequence[object]) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run the command in a pipe, and tell its processor time."""
    began = _processor_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "onnxplain_server", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    return done, _processor_seconds() - began


def _processor_seconds() -> float:
    """Return what all programs took that were run, and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _verdict(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode not in {0, DIFFERS}:
        return _last_line(done)
    compared = json.loads(done.stdout)["comparison"]
    count = compared["rowCount"]
    if done.returncode == 0:
        return f"all {count:,} rows agree"
    causes = [cause["kind"] for cause in compared.get("likelyCauses", [])]
    largest = max(output["largestDifference"] for output in compared["outputs"])
    found = ", ".join(f"`{kind}`" for kind in causes) or "no cause found"
    differing = f"{compared['differingRowCount']:,} of {count:,} rows differ"
    return f"{differing}, by up to {largest:.2g}: {found}"


def _said(done: subprocess.CompletedProcess[str]) -> Sequence[str]:
    """Return what is predicted, and what moves it."""
    if done.returncode:
        return (_last_line(done),)
    summary = json.loads(done.stdout)["summary"]
    leading = [text for text in summary if text.startswith(_LEADING)]
    return (summary[0], *leading[:1])


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.strip().splitlines()[-1]


def _run(words: Sequence[object]) -> None:
    subprocess.run([*map(str, words)], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
