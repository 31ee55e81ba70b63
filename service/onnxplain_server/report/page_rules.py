"""Rules of pages: how many sentences and key figures come first, and which lists are folded.

Reports and the page of the server read the same file.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class PageRules(NamedTuple):
    """Rules of pages.

    Attributes
    ----------
    leading_sentences : int
        Sentences that stand above the key figures.
    most_key_figures : int
        Key figures that are shown.
    long_list : int
        Letters beyond which a list is folded.
    list : str
        Pattern of a message with a list of quoted names: what comes before, the list, what follows.
    """

    leading_sentences: int
    most_key_figures: int
    long_list: int
    list: str


@cache
def page_rules() -> PageRules:
    """Read the rules."""
    file = files("onnxplain_server.report").joinpath("page_rules.json")
    return PageRules(**json.loads(file.read_text(encoding="utf-8")))


def around_list(message: str) -> tuple[str, str, str]:
    """Return what stands before a long list of a message, the list, and what follows.

    The last two are empty where there is none: a sentence is never folded.
    """
    rules = page_rules()
    found = re.search(rules.list, message, re.DOTALL)
    if not found or len(found[2]) <= rules.long_list:
        return message, "", ""
    return found[1], found[2], found[3] or ""
