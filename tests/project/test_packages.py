"""The two packages fit each other, the locks, and the machine of whoever installs them."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement


@pytest.fixture(scope="session")
def server(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def client(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "clients/python/pyproject.toml").read_text(encoding="utf-8"))


def wheel_files(source: Path, folder: Path) -> set[str]:
    """Build the wheel of a package, without network, and list its files."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


def locked(lock: Path) -> dict[str, str]:
    """Read the version of each package in a lock."""
    text = lock.read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE))


def test_wheel_of_the_client_holds_types_messages_and_licence(root: Path, tmp_path: Path) -> None:
    files = wheel_files(root / "clients/python", tmp_path)
    generated = {
        f"onnxplain/v1/{proto.stem}_{kind}"
        for proto in root.glob("proto/onnxplain/v1/*.proto")
        for kind in ("pb2.py", "pb2.pyi", "pb2_grpc.py")
        if proto.stem != "limits"  # read by what generates messages, not by them
    }
    assert generated | {"onnxplain/py.typed", "onnxplain/v1/py.typed"} <= files
    assert {"onnxplain/requests/options/firm.py", "onnxplain/results/firm.py"} <= files
    assert "onnxplain/display/draw.js" in files
    assert any(name.endswith("/licenses/LICENSE") for name in files)
    assert not any(name.startswith("onnxplain_server") for name in files)


def test_extras_of_the_client_are_those_that_its_documents_name(
    server: dict[str, Any], client: dict[str, Any], root: Path
) -> None:
    extras = client["project"]["optional-dependencies"]
    text = (root / "clients/python/README.md").read_text(encoding="utf-8")
    lists = re.findall(r"(?:onnxplain|clients/python|also |, )\[([\w,]+)\]", text)
    named = {name for names in lists for name in names.split(",")}

    assert set(extras) == named
    # The server's package draws by the same renderer.
    assert extras["notebook"] == server["project"]["optional-dependencies"]["render"]


def test_a_server_runs_without_the_renderer_and_is_tested_with_it(root: Path) -> None:
    assert "vl-convert-python" not in locked(root / "requirements/server.txt")
    assert "vl-convert-python" in locked(root / "requirements/dev.txt")


@pytest.mark.parametrize("lock", ["server", "dev"])
def test_lock_satisfies_both_packages(
    root: Path, server: dict[str, Any], client: dict[str, Any], lock: str
) -> None:
    wanted = [
        Requirement(text)
        for package in (server, client)
        for text in package["project"]["dependencies"]
        if not text.startswith("onnxplain==")
    ]
    # Locks are of Linux.
    wanted = [need for need in wanted if need.marker is None or need.marker.evaluate()]
    versions = locked(root / "requirements" / f"{lock}.txt")
    unmet = [str(need) for need in wanted if versions.get(need.name, "") not in need.specifier]
    assert unmet == []


def test_dev_lock_runs_what_the_server_lock_runs(root: Path) -> None:
    server = locked(root / "requirements/server.txt")
    dev = locked(root / "requirements/dev.txt")
    assert server.items() <= dev.items()
