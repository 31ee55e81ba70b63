"""Words about what has changed: title, question and limits, notes of tables, and verdicts.

Reports and the page of the server read the same file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class ChangeWords(NamedTuple):
    """Words about what has changed.

    Attributes
    ----------
    title, question : str
    limits : list of str
        When not to rely on it.
    verdicts : mapping
        By their names in the contract.
    numbers, rankings, unmatched : str
        Notes of these tables; that of numbers goes on with the level of confidence.
    """

    title: str
    question: str
    limits: list[str]
    verdicts: Mapping[str, str]
    numbers: str
    rankings: str
    unmatched: str


@cache
def change_words() -> ChangeWords:
    """Read the words."""
    file = files("onnxplain_server.report.changes").joinpath("change_words.json")
    return ChangeWords(**json.loads(file.read_text(encoding="utf-8")))
