"""Requests by schemathesis from the description, with what it says in words, sent to the server:
cases at the limits of every schema, random ones, and chains of requests; half of them allowed, half
of them not.

TEST_API_CASES raises the number of random cases for each route, and then no case at a
limit is left out.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from flask import Flask
from onnxplain_server.wire.media_types import TABLE_TYPES
from schemathesis import Case, CheckContext, HookContext, Response
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.generation import GenerationMode

from tools.testing.as_read import as_read

CASES = os.environ.get("TEST_API_CASES", "")

# The schemas of requests for explanations have thousands of limits.
SHARE = 1 if CASES else 128

# A request that has the right shape can be wrong in what it means, ask for what no operator has
# listed (403) or for operations without Redis (501), and take too long.
MEANT_WRONG = ["2xx", "400", "403", "404", "413", "501", "504"]

CONFIG = {
    "seed": 1,
    # Slow machines make them too.
    "suppress-health-check": ["all"],
    "continue-on-failure": True,
    # Without a server between them, schemathesis unpacks no answer.
    "headers": {"Accept-Encoding": "identity"},
    "generation": {
        "max-examples": int(CASES or 3),
        "deterministic": True,
        # HTTP allows any header.
        "allow-extra-parameters": False,
    },
    "checks": {
        "positive_data_acceptance": {"expected-statuses": MEANT_WRONG},
        # Of a body without length; and where the time that a client gives is over.
        "negative_data_rejection": {"expected-statuses": ["4xx", "501", "504"]},
        "not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx", "501", "504"]},
    },
}

# What a request can lack though its shape is right, or have twice.
LACKS = ("no model", "applies to a model", "no methods", "no table", "the part model",
         "model.id must", "model.sha256 must", "model.sha256 pins", "table.id must",
         "the model is both", "the table is both", "model.files belong to model.content",
         "the request must have exactly one of table, ")  # fmt: skip

# What only a start takes, without the header that makes it one.
NOT_STARTED = "belongs to an operation; to start one send Prefer: respond-async"

# A pattern of texts cannot tell which of them are whole numbers of 32 bits, like "1.5e1".
NOT_WHOLE = "must be a whole number of 32 bits"


@schemathesis.serializer(*TABLE_TYPES)
def table_file(_context, value) -> bytes:
    """Send the bytes of a table as they are."""
    content = getattr(value, "data", value)
    return content if isinstance(content, bytes) else str(content).encode()


@schemathesis.check
def the_allowed_is_read(_context: CheckContext, answer: Response, case: Case[Any]) -> None:
    """Only for what it means may a request be refused that has the right shape."""
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return
    if isinstance(case.body, dict) and not isinstance(case.body.get("request", {}), dict):
        return  # The generator sometimes puts a constant in the place of a form's object.
    if answer.status_code == 400 and (told := answer.json())["reason"] == "INVALID_REQUEST":
        detail = told["detail"]
        assert detail.startswith(LACKS) or detail.endswith((NOT_WHOLE, NOT_STARTED)), detail


@pytest.fixture
def api(app: Flask, description):
    schema = schemathesis.openapi.from_dict(
        as_read(description), config=SchemathesisConfig.from_dict(CONFIG)
    )
    schema.app = app
    return schema


def failures(schema) -> Iterator[str]:
    """Run all phases, and tell what went wrong."""
    for event in from_schema(schema).execute():
        if isinstance(event, events.NonFatalError | events.FatalError):
            yield str(event)
        if isinstance(event, events.ScenarioFinished):
            for check in itertools.chain.from_iterable(event.recorder.checks.values()):
                if (found := check.failure_info) is not None:
                    label = f"{event.recorder.label}, {check.name}"
                    yield f"{label}: {found.failure}\n{found.code_sample[:2000]}"


@pytest.mark.slow
def test_the_server_does_what_the_description_says(api) -> None:
    limits = itertools.count()

    @api.hook  # type: ignore[untyped-decorator] # schemathesis' own
    def filter_case(_context: HookContext, case: Case[Any]) -> bool:
        phase = case.meta.phase.name if case.meta else None
        return phase != "coverage" or next(limits) % SHARE == 0

    assert list(failures(api)) == []
