"""Command `replay`: the same bits again, or what differs and what was not as it was."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

MODEL, TABLE = "examples/gallery/pima.onnx", "examples/gallery/pima.csv.gz"
FILES = ("--model", MODEL, "--table", TABLE)


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "onnxplain_server", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("kept") / "answer.json"
    methods = ("--method", "average_loss", "--method", "interactions", "--set", "repeat_count=20")
    rows = ("--target-column", "diabetes", "--row-count", "60", "--seed", "3")
    assert run("explain", MODEL, TABLE, *rows, *methods, "--output-file", path).returncode == 0
    answer: dict[str, Any] = json.loads(path.read_text())
    return answer


@pytest.fixture
def write(tmp_path: Path, kept: dict[str, Any]) -> Callable[..., Path]:
    def written(change: Callable[[dict[str, Any]], None]) -> Path:
        answer = json.loads(json.dumps(kept))
        change(answer)
        path: Path = tmp_path / "answer.json"
        path.write_text(json.dumps(answer))
        return path

    return written


def test_a_receipt_and_both_files_are_enough_for_the_same_bits(kept, write) -> None:
    found = run("replay", write(lambda _answer: None), *FILES)

    assert found.returncode == 0, found.stderr
    replayed = json.loads(found.stdout)
    assert replayed["isSame"]
    assert replayed["causes"] == []
    assert replayed["valueCount"] > 100


def test_one_rounding_and_another_version_are_told(write) -> None:
    def change(answer: dict[str, Any]) -> None:
        total = answer["explanations"][1]["interactions"]["total"]
        total["values"][0] *= 1 + 2.0**-52
        answer["receipt"]["libraryVersions"]["numpy"] = "1.0"
        answer["receipt"]["processor"] = "abacus"

    found = run("replay", write(change), *FILES, "--output", "table")

    assert found.returncode == 3
    told = re.search(r"interactions.total.values: 1 of 1 differ, by up to (\S+) of", found.stdout)
    assert told is not None
    assert float(told[1]) == pytest.approx(2.0**-52, rel=1)
    assert "- numpy: 1.0 then, " in found.stdout
    assert "- processor: abacus then, " in found.stdout


def test_another_table_is_named(write, tmp_path: Path) -> None:
    pd.read_csv(TABLE).iloc[::-1].to_csv(tmp_path / "other.csv", index=False)

    found = run(
        "replay", write(lambda _answer: None), "--model", MODEL, "--table", tmp_path / "other.csv"
    )

    assert found.returncode == 3
    assert [cause[:13] for cause in json.loads(found.stdout)["causes"]] == ["another table"]


def test_an_answer_without_its_request_is_refused(write) -> None:
    found = run("replay", write(lambda answer: answer["receipt"].pop("request")), *FILES)

    assert found.returncode == 1
    assert "the receipt of this answer has no request" in found.stderr


def test_a_receipt_keeps_no_file(kept) -> None:
    request = kept["receipt"]["request"]

    assert not {"model", "table", "reference"} & request.keys()
    assert request["rowCount"] == 60
    assert request["targetColumn"] == "diabetes"
