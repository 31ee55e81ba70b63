"""JSON log lines: one object per line."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from onnxplain_server.telemetry.logs import JsonLines
from onnxplain_server.telemetry.spans import Spans

LOG = logging.getLogger("tests.logs")


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """What has been logged."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonLines())
    LOG.addHandler(handler)
    LOG.propagate = False
    yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]
    LOG.removeHandler(handler)


def test_a_line_has_a_time_a_level_a_logger_and_its_text(
    lines: Callable[[], list[dict[str, Any]]],
) -> None:
    LOG.warning("%d of %d", 1, 2)
    (line,) = lines()
    time = line.pop("time")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", time)
    assert line == {"level": "warning", "logger": "tests.logs", "message": "1 of 2"}


def test_what_is_known_of_a_request_stands_beside_the_text(
    lines: Callable[[], list[dict[str, Any]]],
) -> None:
    LOG.error("no", extra={"fields": {"outcome": "INTERNAL", "ms": 1.5}})
    (line,) = lines()
    assert (line["outcome"], line["ms"]) == ("INTERNAL", 1.5)


def test_whatever_is_logged_while_a_request_is_computed_names_it(
    lines: Callable[[], list[dict[str, Any]]],
) -> None:
    with Spans({"request_id": "abc", "trace_id": "0af"}).collecting():
        LOG.error("a worker ended")
    LOG.error("later")
    first, second = lines()
    assert (first["request_id"], first["trace_id"]) == ("abc", "0af")
    assert "request_id" not in second


def test_texts_with_line_ends_and_exceptions_stay_on_one_line(
    lines: Callable[[], list[dict[str, Any]]],
) -> None:
    try:
        int("a\nb")
    except ValueError:
        LOG.exception("two\nlines")
    (line,) = lines()
    assert line["message"] == "two\nlines"
    assert line["exception"].startswith("Traceback")
