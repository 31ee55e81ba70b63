"""`make dist`: files from which both packages install into an environment of one's own."""

import json
import os
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


def install_lines(root: Path) -> list[str]:
    """The lines of the README that install the packages, in its order."""
    lines = [
        line
        for line in (root / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("pip install")
    ]
    assert len(lines) == 2
    return lines


@pytest.mark.slow
def test_the_files_install_into_a_clean_environment_and_explain(
    root: Path, dist: Path, tmp_path: Path
) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    programs = tmp_path / "env" / "bin"

    def run(program: str, *arguments: str) -> str:
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            [program, *arguments],
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    (tmp_path / "dist").symlink_to(dist)
    for line in install_lines(root):
        run("bash", "-euc", line)
    found = run(
        *("pip", "download", "--no-index", "--no-deps", "--find-links", "dist"),
        *("--dest", "found", "onnxplain-server"),
    )
    assert "Successfully downloaded onnxplain-server" in found
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

    (tmp_path / "answer.json").write_text(answer, encoding="utf-8")
    draw = ["onnxplain", "plot", "answer.json", "--name", "permutation-importance"]
    assert run(*draw).startswith("<svg")
    run("pip", "uninstall", "--yes", "vl-convert-python")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        run(*draw)
    assert "pip install 'onnxplain-server[render]'" in refused.value.stderr
    assert run(*draw, "--format", "vega-lite").startswith("{")
