"""`make dist`: files from which both packages install into an environment of one's own."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest


@pytest.fixture(scope="module")
def dist(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages") / "dist"
    command = ["make", "--silent", "dist", f"DIST={folder}"]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    return folder


def test_both_packages_come_as_wheel_and_as_source(dist: Path) -> None:
    names = sorted(file.name.partition("-")[0] + file.suffix for file in dist.iterdir())

    assert names == [
        "onnxplain.gz",
        "onnxplain.whl",
        "onnxplain_server.gz",
        "onnxplain_server.whl",
    ]


@pytest.mark.parametrize("package", ["onnxplain", "onnxplain_server"])
def test_the_source_gives_the_same_wheel(dist: Path, tmp_path: Path, package: str) -> None:
    (archive,) = dist.glob(f"{package}-*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)

    (built,), (shipped,) = tmp_path.glob("*.whl"), dist.glob(f"{package}-*.whl")
    assert built.read_bytes() == shipped.read_bytes()
    with ZipFile(built) as wheel:
        assert f"{package}/py.typed" in wheel.namelist()


@pytest.mark.slow
def test_the_files_install_into_a_clean_environment_and_explain(
    root: Path, dist: Path, tmp_path: Path
) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    programs = tmp_path / "env" / "bin"

    def run(program: str, *arguments: str) -> str:
        command = [str(programs / program), *arguments]
        return subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    run("pip", "install", "--quiet", "--find-links", str(dist), "onnxplain-server")
    iris = root / "examples" / "iris"
    described = json.loads(run("onnxplain", "describe", str(iris / "linear.onnx")))
    files = run("python", "-c", "import onnxplain, onnxplain_server as s; print(s.__file__)")
    answer = run(
        *("onnxplain", "explain", str(iris / "linear.onnx"), str(iris / "iris.csv")),
        *("--feature-columns", "sepal_width,petal_length,petal_width,species"),
        *("--method", "permutation_importance", "--target-column", "sepal_length"),
    )

    assert described["model"]["outputNames"] == ["variable"]
    assert files.startswith(str(tmp_path))
    importances = json.loads(answer)["explanations"][0]["permutationImportance"]["importances"]
    assert len(importances) == 4
