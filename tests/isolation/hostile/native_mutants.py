"""Mutants of native tree files: a value, a name, some bytes or a part changed, one seed each."""

from __future__ import annotations

import json
import random
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

FILES = sorted(
    file
    for file in (Path(__file__).parents[2] / "models/native").glob("*/*/*")
    if file.stem != "answers" and file.suffix != ".onnx"
)
ODD = (-1, 0, 1, 2, 255, 2**31 - 1, 2**31, 2**63, -(2**63), 1e39, -0.0, float("nan"), float("inf"))
ODD_VALUES: tuple[Any, ...] = (
    *ODD,
    *map(str, ODD),
    "",
    "x",
    None,
    True,
    [],
    {},
    [[]],
    ["x"],
    [1.5],
    "[1E0,2E0]",
)


def mutant(seed: int, library: str) -> tuple[str, bytes]:
    """Return the name of a mutant, and its bytes."""
    rng = random.Random(seed)  # noqa: S311 - test data, not a secret
    file = rng.choice([file for file in FILES if file.parts[-3] == library])
    content = file.read_bytes()
    if file.suffix == ".json" and rng.random() < 0.7:
        document = json.loads(content)
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            _change(document, rng)
        content = json.dumps(document).encode()
    elif file.suffix == ".txt" and rng.random() < 0.7:
        content = _words(content, rng)
    else:
        content = _bytes(bytearray(content), rng)
    return f"{file.parent.name}/{file.name}, seed {seed}", content


def _change(value: Any, rng: random.Random) -> None:
    """Change one value somewhere inside, each level as likely to be left as to be the place."""
    while isinstance(value, dict | list) and value:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = rng.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.85:
            value = inner
            continue
        match rng.randrange(6):
            case 0:
                del value[key]
            case 1:
                other = rng.choice(list(value.values()) if isinstance(value, dict) else value)
                value[key] = deepcopy(other)
            case 2 if isinstance(value, list):
                value.insert(key, deepcopy(rng.choice(value)))
            case 3 if isinstance(inner, int | float):
                value[key] = inner + rng.choice((-1, 1, 2, -2, 0.5, 1e-3))
            case _:
                value[key] = deepcopy(rng.choice(ODD_VALUES))
        return


def _words(content: bytes, rng: random.Random) -> bytes:
    """Change words of lines that are read: header and trees, and what is behind them rarely."""
    head, end, tail = content.partition(b"end of trees")
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        words = re.split(rb"([ =\n])", head)
        place = rng.randrange(len(words))
        match rng.randrange(5):
            case 0:
                del words[place : place + rng.choice((1, 2))]
            case 1:
                words[place] = rng.choice(words)
            case 2:
                words[place:place] = words[place : place + rng.choice((2, 30))]
            case _:
                words[place] = str(rng.choice(ODD_VALUES)).encode()
        head = b"".join(words)
    return head + end + tail


def _bytes(content: bytearray, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 1, 2, 8))):
        place = rng.randrange(len(content))
        end = place + rng.choice((1, 2, 8, 100))
        match rng.randrange(5):
            case 0:
                content[place] ^= 1 << rng.randrange(8)
            case 1:
                content[place] = rng.randrange(256)
            case 2:
                del content[place:end]
            case 3:
                content[place:place] = content[rng.randrange(len(content)) :][:100]
            case 4:
                del content[rng.randrange(len(content) // 2, len(content)) :]
        if len(content) < 2:
            break
    return bytes(content)
