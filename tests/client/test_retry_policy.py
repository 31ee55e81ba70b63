"""Policy of retries: each client's source and README say what clients/retries.toml says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parents[2] / "clients"
POLICY = tomllib.loads((CLIENTS / "retries.toml").read_text(encoding="utf-8"))
COUNT, FIRST, LONGEST = (
    POLICY[name] for name in ("retry_count", "first_pause_ms", "longest_pause_ms")
)
JAVA = "java/src/main/java/io/github/onnxplain"
SAID = {
    "python/onnxplain/transport/connection.py": [rf"RETRY_COUNT = {COUNT}\b"],
    "python/onnxplain/transport/retry.py": [
        rf"_FIRST_SECONDS = {FIRST / 1_000}\b",
        rf"_MAX_SECONDS = {LONGEST / 1_000}\b",
        r"uniform\(0\.5, 1\.0\)",
    ],
    "go/options.go": [rf"DefaultRetries = {COUNT}\b"],
    "go/retry.go": [
        rf"firstPause = {FIRST} \* time\.Millisecond",
        rf"mostPause  = {LONGEST // 1_000} \* time\.Second",
        r"0\.5 \+ rand\.Float64\(\)/2",
    ],
    f"{JAVA}/ClientBuilder.java": [rf"RETRY_COUNT = {COUNT};", rf"default {COUNT}, "],
    f"{JAVA}/Attempts.java": [
        rf"FIRST = Duration\.ofMillis\({FIRST}\)",
        rf"MOST = Duration\.ofSeconds\({LONGEST // 1_000}\)",
        r"nextDouble\(0\.5, 1\.0\)",
    ],
    "typescript/src/terms.ts": [rf"options\.retries \?\? {COUNT}\b", rf"Default {COUNT}:"],
    "typescript/src/retry.ts": [
        rf"FIRST_MS = {FIRST};",
        rf"MOST_MS = {LONGEST // 1_000}_000;",
        r"0\.5 \+ Math\.random\(\) / 2",
    ],
    **{
        f"{name}/README.md": [rf"\b{COUNT}\b[^.]*for 6\s+to 13 s in all"] for name in ("go", "java")
    },
    "python/README.md": [rf"times \({COUNT}\)[^.]*for 6 to 13 s in all"],
    "typescript/README.md": [rf"times \({COUNT}\)[^.]*for 6 to 13 s in all"],
}


@pytest.mark.parametrize("file", SAID)
def test_a_client_retries_as_all_do(file: str) -> None:
    text = (CLIENTS / file).read_text(encoding="utf-8")
    assert [words for words in SAID[file] if not re.search(words, text)] == []


def test_the_time_of_all_retries_is_as_told() -> None:
    longest = sum(min(FIRST * 2**n, LONGEST) for n in range(COUNT)) / 1_000
    assert (int(longest / 2), round(longest)) == (6, 13)
