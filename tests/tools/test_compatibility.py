"""Compatibility: the page is what the script writes, and no environment is left out."""

from __future__ import annotations

import json

from tools.compatibility.__main__ import PAGE, RESULT, page
from tools.compatibility.cases import CASES


def test_the_page_is_what_the_results_give() -> None:
    results = json.loads(RESULT.read_text(encoding="utf-8"))

    assert page(results) == PAGE.read_text(encoding="utf-8")


def test_each_environment_was_tried_and_passed() -> None:
    results = json.loads(RESULT.read_text(encoding="utf-8"))

    assert list(results) == [case.name for case in CASES]
    assert [name for name, each in results.items() if each["failed"] or not each["versions"]] == []
