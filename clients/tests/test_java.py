"""Java client: its README, its example and its package."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest
from harness import Server


@pytest.fixture(scope="session")
def java(root: Path) -> Path:
    """The folder of the client, which must have been built."""
    folder = root / "clients" / "java"
    if not (folder / "target" / "test-class-path").exists():
        pytest.fail("the Java client is not built: run `make client-java`")
    return folder


def run(java: Path, source: Path, *arguments: str, cwd: Path) -> str:
    """Compile and run one file, as its reader would."""
    target = java / "target"
    path = f"{target / 'classes'}:{(target / 'test-class-path').read_text()}"
    command = ["java", "-cp", path, str(source), *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks(java: Path) -> list[str]:
    """Blocks of Java in the README: a program, operations, and connections."""
    found: list[str] = re.findall(r"```java\n(.*?)```", (java / "README.md").read_text(), re.DOTALL)
    return found


def packed(java: Path, kind: str) -> set[str]:
    (jar,) = (java / "target").glob(f"onnxplain-client-*{kind}.jar")
    with ZipFile(jar) as archive:
        return set(archive.namelist())


def test_the_readme_works(java: Path, root: Path, server: Server, tmp_path: Path) -> None:
    program, _, _ = blocks(java)
    endpoint = server.environment["ONNXPLAIN_ENDPOINT"]
    assert '"localhost:8081"' in program
    (tmp_path / "First.java").write_text(program.replace("localhost:8081", endpoint))
    shutil.copy(root / "tests/conformance/files/score.onnx", tmp_path / "model.onnx")
    shutil.copy(root / "tests/conformance/files/long.csv", tmp_path / "rows.csv")

    total, plot = run(java, tmp_path / "First.java", cwd=tmp_path).splitlines()

    assert re.fullmatch(r"\[0\.\d+\]", total)
    assert plot.startswith("{")


def test_the_operations_of_the_readme_work(
    java: Path, root: Path, keeping: Server, tmp_path: Path
) -> None:
    """In a program whose client and call are what the text assumes, with a label of their own."""
    _, operations, _ = blocks(java)
    files = root / "tests/conformance/files"
    (tmp_path / "Third.java").write_text(
        "import io.github.onnxplain.*;\n"
        "import io.github.onnxplain.v1.ExplanationPlan;\n"
        "import io.github.onnxplain.v1.InteractionsOptions;\n"
        "import java.nio.file.Path;\nimport java.time.Duration;\n"
        "class Third {\npublic static void main(String[] arguments) {\n"
        "ExplainCall call = ExplainCall.builder()\n"
        ".model(Models.file(Path.of(arguments[1]))).table(Tables.file(Path.of(arguments[2])))\n"
        ".method(InteractionsOptions.getDefaultInstance()).build();\n"
        "try (OnnxplainClient client = Onnxplain.connect(arguments[0]).build()) {\n"
        f"{operations}System.out.println(explanations);\n}}\n}}\n}}\n"
    )
    endpoint = keeping.environment["ONNXPLAIN_ENDPOINT"]
    arguments = (endpoint, str(files / "score.onnx"), str(files / "whole.csv"))

    printed = run(java, tmp_path / "Third.java", *arguments, cwd=tmp_path).splitlines()

    assert re.fullmatch(r"\d+ to \d+ s", printed[0])
    assert printed[-1] == "Explanations[INTERACTIONS]"
    assert all(re.fullmatch(r"\d+ of \d+ rows", line) for line in printed[1:-1])


def test_the_connections_of_the_readme_compile(java: Path, tmp_path: Path) -> None:
    """In a method that is never called, with the source of tokens that the text assumes."""
    _, _, connections = blocks(java)
    (tmp_path / "Second.java").write_text(
        "import io.github.onnxplain.*;\nimport java.nio.file.Path;\n"
        "class Second {\n"
        "interface Tokens { String current(); }\n"
        f"static void connect(Tokens tokens) throws Exception {{\n{connections}}}\n"
        "public static void main(String[] arguments) {}\n}\n"
    )

    assert run(java, tmp_path / "Second.java", cwd=tmp_path) == ""


def test_the_readme_names_this_version(java: Path, root: Path) -> None:
    version = re.search(r'^version = "(.+)"$', (root / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    assert f"<version>{version[1]}</version>" in (java / "README.md").read_text()


def test_the_strongest_interaction_of_miami_is_printed(
    java: Path, root: Path, server: Server
) -> None:
    endpoint = server.environment["ONNXPLAIN_ENDPOINT"]

    found = run(java, java / "examples" / "Miami.java", endpoint, "examples/miami", cwd=root)

    pair = "OCEAN_DIST and structure_quality"
    assert found == f"{pair}: 0.039 of their joint effect is interaction.\n"


def test_messages_sources_documentation_and_licence_are_packed(java: Path) -> None:
    for kind, suffix in (("[0-9]", "class"), ("-sources", "java"), ("-javadoc", "html")):
        files = packed(java, kind)
        assert any(name.endswith(f"io/github/onnxplain/Onnxplain.{suffix}") for name in files)
        assert any(name.endswith(f"onnxplain/v1/ExplainRequest.{suffix}") for name in files)
    assert "META-INF/LICENSE" in packed(java, "[0-9]")
