"""The TypeScript client's own tests: with a server of theirs, and in Chromium."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import Server, serving
from redis_process import running_redis


@pytest.fixture(scope="module")
def package(root: Path) -> Path:
    return root / "clients" / "typescript"


@pytest.fixture(scope="module")
def small(
    program: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server with operations, whose limit for tables a test can exceed."""
    folder = tmp_path_factory.mktemp("redis")
    # The example's model takes many rows.
    settings = {"max_table_bytes": 8 * 2**20, "max_planned_rows": 1e10, "cache_secret": "s" * 32}
    with (
        running_redis(program("redis-server"), folder) as url,
        serving(redis_url=url, **settings) as running,
    ):
        yield running


def run(root: Path, package: Path, *words: str, **variables: str) -> str:
    """Run a program of Node in the package's folder; what it printed."""
    node = root / ".venv-proto" / "bin"
    done = subprocess.run(
        [str(node / words[0]), *words[1:]],
        cwd=package,
        env=os.environ | {"PATH": f"{node}:{os.environ['PATH']}"} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def programs(package: Path, folder: str) -> list[str]:
    found = sorted((package / "build" / "tests" / folder).glob("*.test.js"))
    assert found, "the client is not compiled: run `make client-typescript`"
    return [str(path) for path in found]


def test_calls_are_as_they_should_be(root: Path, package: Path) -> None:
    assert "pass" in run(root, package, "node", "--test", *programs(package, ""))


def test_the_client_works_in_node_and_in_chromium(
    root: Path, package: Path, small: Server, tmp_path: Path
) -> None:
    picture = tmp_path / "page.png"
    metrics = f"http://127.0.0.1:{small.metrics_port}/metrics"
    variables = {"ONNXPLAIN_METRICS": metrics, "ONNXPLAIN_SCREENSHOT": str(picture)}

    run(
        root,
        package,
        "node",
        "--test",
        *programs(package, "server"),
        **small.environment,
        **variables,
    )

    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_package_is_made_and_installed_as_the_readme_tells(
    root: Path, package: Path, tmp_path: Path
) -> None:
    """But for compiling it: other tests use what is compiled."""
    run(root, package, "npm", "pack", "--ignore-scripts", "--pack-destination", str(tmp_path))

    (file,) = tmp_path.glob("onnxplain-*.tgz")
    with tarfile.open(file) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
    assert (package / "LICENSE").read_bytes() == (root / "LICENSE").read_bytes()
    told = json.loads((package / "package.json").read_text())
    entries = [path for entry in told["exports"].values() for path in entry.values()]
    assert {path.removeprefix("./") for path in entries} <= names
    assert {name.split("/")[0] for name in names} == {
        "LICENSE",
        "README.md",
        "dist",
        "package.json",
    }
    assert f"npm install ./{file.name}\n" in (package / "README.md").read_text()
    run(root, tmp_path, "npm", "install", "--no-audit", "--no-fund", f"./{file.name}")
    script = "import('onnxplain').then(({connect}) => console.log(typeof connect))"
    assert run(root, tmp_path, "node", "-e", script) == "function\n"
