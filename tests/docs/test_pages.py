"""The documents tell all that there is, and what the code writes of them is fresh."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from onnxplain.v1 import explanation_service_pb2
from onnxplain.v1.explanation_service_pb2 import Explanation, MethodOptions
from onnxplain_server import cli
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.errors import Reason
from onnxplain_server.core.warnings import ALL, WARNINGS, InputWarning, MethodWarning
from onnxplain_server.transport import path_parts
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.rest.routes import create_app
from onnxplain_server.transport.service import Service
from typer.main import get_command

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SERVICE = explanation_service_pb2.DESCRIPTOR.services_by_name["ExplanationService"]
METHODS = [field.name for field in MethodOptions.DESCRIPTOR.fields]

# Of columns, and what every result has.
WIRE = {"name", "names", "columns", "numbers", "strings", "output_names"}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    subprocess.run([sys.executable, ROOT / "tools/reference.py", folder], check=True)
    return folder


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def code(text: str) -> set[str]:
    """Return what stands in backticks, word by word; of "a.b[].c" also each of its parts."""
    spans = re.findall(r"`([^`\n]+)`", text)
    words = {word for span in spans for word in re.split(r"[\s,]+", span)}
    return words | {part for word in words for part in re.split(r"(?:\[\])?\.", word)}


def fields(message) -> set[str]:
    """Name the fields of a message and of what it consists of."""
    nested = [field.message_type for field in message.fields if field.message_type]
    return {field.name for field in message.fields}.union(*map(fields, nested))


@pytest.mark.parametrize(
    "name",
    [
        "index.md",
        "settings.md",
        "errors.md",
        "warnings.md",
        "metrics.md",
        *(f"methods/{method.replace('_', '-')}.md" for method in METHODS),
    ],
)
def test_pages_written_by_the_code_are_fresh(written: Path, name: str) -> None:
    assert page(name) == (written / name).read_text(encoding="utf-8"), "run `make reference`"


def test_written_pages_leave_nothing_out() -> None:
    assert {f"ONNXPLAIN_{name.upper()}" for name in Settings.model_fields} <= code(
        page("settings.md")
    )
    assert {reason.name for reason in Reason} <= code(page("errors.md"))
    assert "onnxplain_waiting_requests" in code(page("metrics.md"))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_page_with_its_options_and_results(method: str) -> None:
    file = f"methods/{method.replace('_', '-')}.md"
    options = MethodOptions.DESCRIPTOR.fields_by_name[method].message_type
    results = Explanation.DESCRIPTOR.fields_by_name[method].message_type
    named = code(page(file))

    assert fields(options) - WIRE <= named
    assert fields(results) - fields(options) - WIRE <= named
    assert f"]({file})" in page("index.md")


@pytest.mark.parametrize("method", METHODS)
def test_every_page_of_a_method_answers_the_same_questions(method: str) -> None:
    text = page(f"methods/{method.replace('_', '-')}.md")

    # From what a method differs is its own: another program, or a paper.
    assert re.findall(r"^## (Differences(?= from )|.*)", text, re.MULTILINE) == [
        "Definition",
        "How to read the numbers",
        "When not to trust it",
        "Options",
        "Cost",
        "Differences",
        "Sources",
    ]


def test_every_call_of_grpc_is_told() -> None:
    assert {method.name for method in SERVICE.methods} <= code(page("surfaces/grpc.md"))


def test_every_route_of_rest_is_told() -> None:
    """What answers is never asked, only where it would."""
    routes = create_app(cast("Service", None), Metrics(), 1).url_map.iter_rules()
    named = code(page("surfaces/rest.md"))
    assert {path_parts.shown(route.rule) for route in routes} <= named


def test_every_command_is_told() -> None:
    commands = set(get_command(cli.app).commands)  # type: ignore[attr-defined] # it is a group
    assert commands <= code(page("surfaces/command-line.md"))


def test_every_name_of_a_metric_that_is_used_exists() -> None:
    used = set(re.findall(r"\b(?:onnxplain|grpc_server|http_server)_\w+", page("operations.md")))
    known = code(page("metrics.md"))
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in used} <= known


def test_every_setting_that_is_named_exists() -> None:
    for path in DOCS.rglob("*.md"):
        named = set(re.findall(r"\bONNXPLAIN_([A-Z_]+)", path.read_text(encoding="utf-8")))
        # Commands that ask a server read their token.
        assert {name.lower() for name in named} - {"token"} <= Settings.model_fields.keys(), path


def test_every_warning_is_raised_by_its_name() -> None:
    """No answer has a code that is not declared; no declaration is left over."""
    raised = {
        node.attr
        for path in (ROOT / "service" / "onnxplain_server").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and getattr(node.value, "id", "") in {"InputWarning", "MethodWarning"}
    }

    assert raised == WARNINGS.keys()


def test_no_two_warnings_are_declared_alike() -> None:
    """Members of an enumeration with equal values would be one."""
    members = (*InputWarning.__members__, *MethodWarning.__members__)

    assert len(members) == len(WARNINGS)


def test_warnings_silence_methods_that_exist() -> None:
    silenced = {name for told in WARNINGS.values() for name in told.silences}

    assert silenced - {*ALL} <= {*METHODS}
