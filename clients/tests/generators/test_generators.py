"""Clients that public generators make from the OpenAPI document, against a real server."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from generated import DOCUMENT, GENERATORS, HERE, METHODS, Generator, run
from harness import Server, serving

from tools.openapi.examples import MODEL

pytestmark = pytest.mark.slow

ROWS = "".join(f"{18 + 7 * i % 70},{18 + 5 * i % 22},{i * 37 % 900}\n" for i in range(30))


@pytest.fixture(scope="module", params=GENERATORS, ids=lambda each: each.heading)
def generator(request: pytest.FixtureRequest) -> Generator:
    """Give each generator."""
    chosen: Generator = request.param
    return chosen


@pytest.fixture(scope="module")
def folder(generator: Generator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the client that a generator has made, and files to explain."""
    made = tmp_path_factory.mktemp("generated")
    generator.generate(made)
    (made / "model.onnx").write_bytes(base64.b64decode(MODEL))
    (made / "table.csv").write_text(f"age,bmi,risk\n{ROWS}")
    return made


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that waits for models as long as a busy machine needs."""
    with serving(max_load_seconds=300, max_seconds=600) as running:
        yield running


def compiled(generator: Generator, folder: Path, program: str) -> tuple[bool, str]:
    """Compile a program; tell whether it does, and what was said."""
    (folder / generator.program).write_text(program)
    done = run(generator.check or "true", folder)
    return done.returncode == 0, done.stdout


def asked(generator: Generator, folder: Path, program: str, server: Server) -> list[str]:
    """Compile and run a program, and return the lines that it prints."""
    ok, told = compiled(generator, folder, program)
    assert ok, told
    done = run(generator.run, folder, SERVER=f"http://127.0.0.1:{server.rest_port}")
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


def test_the_program_of_the_page_gets_an_answer_and_reads_a_refusal(
    generator: Generator, folder: Path, server: Server
) -> None:
    lines = asked(generator, folder, generator.written(), server)

    assert lines[0].startswith("answered 1 "), lines
    assert "risk" in lines[0], "the output that the answer is about"
    assert lines[1:] == ["refused MISSING_COLUMN"]


def test_each_method_is_answered(generator: Generator, folder: Path, server: Server) -> None:
    lines = asked(generator, folder, generator.with_every_method(), server)

    assert lines[0].startswith(f"answered {len(METHODS)} "), lines


@pytest.mark.parametrize("what", ["method", "option"])
def test_what_does_not_exist_is_refused_before_the_server_is_asked(
    generator: Generator, folder: Path, what: str
) -> None:
    ok, told = compiled(generator, folder, generator.without(what))
    if not generator.check:
        done = run(generator.run, folder, SERVER="http://127.0.0.1:1")
        ok, told = done.returncode == 0, done.stdout

    assert not ok
    assert "interaction" in told.lower() or "pairwise" in told.lower()
    assert "onnect" not in told, "nobody has tried to reach the server"


UPLOAD = """
import os
from io import BytesIO
from onnxplain_rest import Client
from onnxplain_rest.api.models_and_tables import put_model, put_table
from onnxplain_rest.models import PutTableFormat
from onnxplain_rest.types import File

client = Client(base_url=os.environ["SERVER"])
file = File(BytesIO(b"age,risk\\n1,2\\n"))
print(put_table.sync(client=client, body=file, format_=PutTableFormat.CSV).id)
print(put_model.sync(client=client, body=File(open("model.onnx", "rb"))).id)
"""


@pytest.mark.parametrize(
    "generator",
    [each for each in GENERATORS if each.heading == "openapi-python-client"],
    indirect=True,
)
def test_files_are_uploaded(folder: Path, server: Server) -> None:
    (folder / "program.py").write_text(UPLOAD)
    done = run("python program.py", folder, SERVER=f"http://127.0.0.1:{server.rest_port}")

    assert re.fullmatch(r"(sha256:[0-9a-f]{64}\n){2}", done.stdout), done.stdout


@pytest.mark.parametrize(
    "command",
    [
        f"spectral lint --fail-severity hint --ruleset spectral.yaml {DOCUMENT}",
        f"redocly lint --config redocly.yaml {DOCUMENT}",
    ],
    ids=["spectral", "redocly"],
)
def test_linters_find_nothing(command: str) -> None:
    done = run(f"node_modules/.bin/{command}", HERE, REDOCLY_TELEMETRY="off")

    assert done.returncode == 0, done.stdout
    assert "warning" not in done.stdout.lower().replace("no warnings", "")
