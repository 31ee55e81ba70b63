"""Mutants: models of real exporters with some bytes changed, reproducible by seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hostile import forests, greedy
from hostile.base import Hostile, hostile, model, node
from onnx import ModelProto
from onnxplain_server.core.errors import Reason

_MODELS = Path(__file__).parents[2] / "models"
_LARGEST_BYTES = 60_000
_SHARE_OF_ATTRIBUTES = 0.3
_VALUES = (0, 0, 1, 1, 2, 3, 5, 7, 100, -1, 2**31 - 1, 2**40, -(2**62))
_SEED_COUNT = 20


def seeds() -> list[bytes]:
    """Twenty models: small ones of every exporter, and some with loops and branches."""
    files = sorted(_MODELS.glob("*.onnx"), key=lambda path: path.stat().st_size)
    made = [
        forests.forest("TreeEnsembleRegressor", forests.REGRESSOR),
        forests.forest("TreeEnsembleClassifier", forests.CLASSIFIER),
        forests.forest("TreeEnsemble", forests.FIFTH),
        greedy.loop(3),
        model([node("Neg", "X")]),
    ]
    small = [path.read_bytes() for path in files if path.stat().st_size < _LARGEST_BYTES]
    step = max(1, len(small) // (_SEED_COUNT - len(made)))
    return [each.SerializeToString() for each in made] + small[::step][: _SEED_COUNT - len(made)]


def mutants(count: int, start: int = 0) -> Iterator[Hostile]:
    """Make `count` of them, each with one to eight changes."""
    originals = seeds()
    for number in range(start, start + count):
        generator = random.Random(number)  # noqa: S311 - test data, not a secret
        content = bytearray(originals[number % len(originals)])
        if generator.random() < _SHARE_OF_ATTRIBUTES:
            content = _change_attributes(content, generator)
        else:
            for _ in range(generator.choice((1, 1, 1, 2, 3, 8))):
                _change(content, generator)
        yield hostile(f"mutant-{number}", bytes(content), frozenset(Reason), may_answer=True)


def _change_attributes(content: bytearray, generator: random.Random) -> bytearray:
    """Change numbers where nodes have them, so that the model still parses."""
    changed = ModelProto.FromString(bytes(content))
    actual = [attribute for each in changed.graph.node for attribute in each.attribute]
    lists: list[Any] = [values for a in actual for values in (a.ints, a.floats) if values]
    lists += [tensor.dims for tensor in changed.graph.initializer if tensor.dims]
    for _ in range(generator.randint(1, 3) if lists else 0):
        values = generator.choice(lists)
        kind = type(values[0])
        values[generator.randrange(len(values))] = kind(generator.choice(_VALUES))
    return bytearray(changed.SerializeToString())


def _change(content: bytearray, generator: random.Random) -> None:
    at = generator.randrange(len(content))
    match generator.randrange(9):
        case 0 | 6 | 7:
            content[at] = generator.randrange(256)
        case 1 | 8:
            content[at] ^= 1 << generator.randrange(8)
        case 2:
            content[at:at] = generator.randbytes(generator.randint(1, 8))
        case 3:
            del content[at : at + generator.randint(1, 8)]
        case 4:
            content[at : at + 8] = generator.choice(_NUMBERS)
        case _:
            end = at + generator.randint(1, 64)
            content[at:at] = content[at:end]
    if not content:
        content += b"\x00"


_NUMBERS = (
    b"\xff" * 9 + b"\x01",  # -1
    b"\x80" * 9 + b"\x01",
    b"\xff\xff\xff\xff\x07",
    b"\x00" * 8,
    b"\x00\x00\xc0\x7f" * 2,  # NaN
)
