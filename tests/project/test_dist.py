"""`make dist`: files from which both packages install into an environment of one's own."""

import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

import hatch_build
from tools.systems import installation, pythons

DEMO = "onnxplain_server/cli/demonstration/miami"


@pytest.fixture(scope="module")
def dist(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages") / "dist"
    command = ["make", "--silent", "dist", f"DIST={folder}"]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    return folder


@pytest.mark.slow
def test_both_packages_come_as_wheel_and_as_source(dist: Path) -> None:
    names = sorted(file.name.partition("-")[0] + file.suffix for file in dist.iterdir())

    assert names == [
        "onnxplain.gz",
        "onnxplain.whl",
        "onnxplain_server.gz",
        "onnxplain_server.whl",
        "onnxplain_server.whl",  # for all systems
    ]


@pytest.mark.slow
def test_wheel_of_the_server_holds_types_and_licence_but_no_messages(dist: Path) -> None:
    (path,) = dist.glob("onnxplain_server-*-cp*.whl")
    with ZipFile(path) as wheel:
        files = set(wheel.namelist())
    assert {"onnxplain_server/py.typed", "onnxplain_server/core/interfaces.py"} <= files
    page = {
        f"onnxplain_server/transport/rest/{name}"
        for name in ("openapi.json", "docs.html", "docs.js")
    }
    assert page <= files
    assert {
        f"{DEMO}/{name}" for name in ("miami.onnx", "miami_housing.csv.gz", "request.json")
    } <= files
    assert any(name.endswith("/licenses/LICENSE") for name in files)
    assert not any(name.startswith("onnxplain/") for name in files)


@pytest.mark.slow
@pytest.mark.parametrize("package", ["onnxplain", "onnxplain_server"])
def test_the_source_gives_the_same_wheel(dist: Path, tmp_path: Path, package: str) -> None:
    (archive,) = dist.glob(f"{package}-*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)

    (built,) = tmp_path.glob("*.whl")
    shipped = dist / built.name
    assert built.read_bytes() == shipped.read_bytes()
    with ZipFile(built) as wheel:
        assert f"{package}/py.typed" in wheel.namelist()


@pytest.mark.parametrize(
    ("program", "cause"),
    [
        ("import not_there", "ModuleNotFoundError: No module named 'not_there'; [build-system]"),
        ("import sys; sys.exit('C compiler not found: gcc')", "C compiler not found: gcc"),
        ("import sys; sys.exit(3)", "the compiling process ended by status 3"),
        ("import os; os.kill(os.getpid(), 9)", "the compiling process was ended by SIGKILL"),
    ],
)
def test_a_build_that_fails_says_what_failed(tmp_path: Path, program: str, cause: str) -> None:
    with pytest.raises(SystemExit, match=f"its loops failed: {re.escape(cause)}"):
        hatch_build._compile(stand_in(tmp_path, program), "nowhere")


def test_the_build_finds_what_its_frontend_isolated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "isolated").mkdir()
    (tmp_path / "isolated" / "requirement_of_the_build.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "isolated"))

    hatch_build._compile(stand_in(tmp_path, "import requirement_of_the_build"), "nowhere")


def stand_in(folder: Path, program: str) -> Path:
    """A folder of sources whose compilation is this program."""
    package = folder / "onnxplain_server" / "trees" / "kernels"
    package.mkdir(parents=True)
    for each in (package, package.parent, package.parents[1]):
        (each / "__init__.py").touch()
    (package / "ahead_of_time.py").write_text(program, encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("source", ["checkout", "source distribution"])
def test_pip_builds_from_sources_in_a_clean_environment(
    root: Path, dist: Path, tmp_path: Path, source: str
) -> None:
    """The checkout by this Python, the source distribution by the newest that is here."""
    if source == "checkout":
        python, what = Path(sys.executable), root
    else:
        python, (what,) = pythons.newest(with_headers=True), dist.glob("onnxplain_server-*.tar.gz")
    subprocess.run([python, "-m", "venv", tmp_path / "env"], check=True)
    programs = tmp_path / "env" / "bin"
    # The client, which no index has yet, is found as source too.
    (client,) = dist.glob("onnxplain-*.tar.gz")
    install = [*map(str, (programs / "pip", "install", client, what))]
    done = subprocess.run(install, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    version = subprocess.check_output([programs / "onnxplain", "--version"], text=True)
    assert "0.1.0" in version
    find = "import onnxplain_server.trees.kernels as k; print(*k.__path__)"
    found = subprocess.check_output([programs / "python", "-c", find], cwd=tmp_path, text=True)
    assert list(Path(found.strip()).glob("_compiled_*.so"))


def install_lines(root: Path) -> list[str]:
    """The lines of the README that install the packages, in its order."""
    lines = [
        line
        for line in (root / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("pip install")
    ]
    assert len(lines) == 2
    return lines


Run = Callable[..., str]


@pytest.fixture(scope="module")
def installed(root: Path, dist: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """A folder with an environment that the README's lines made, and what runs programs there."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    path = f"{folder / 'env' / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def run(program: str, *arguments: str) -> str:
        return subprocess.run(
            [program, *arguments],
            cwd=folder,
            env=os.environ | {"PATH": path},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    (folder / "dist").symlink_to(dist)
    for line in install_lines(root):
        run("bash", "-euc", line)
    return folder, run


def explained(root: Path, run: Run) -> str:
    """The answer of the installed command, as JSON."""
    iris = root / "examples" / "iris"
    return run(
        *("onnxplain", "explain", str(iris / "linear.onnx"), str(iris / "iris.csv")),
        *("--feature-columns", "sepal_width,petal_length,petal_width,species"),
        *("--method", "permutation_importance", "--target-column", "sepal_length"),
    )


@pytest.mark.slow
def test_the_files_install_into_a_clean_environment_and_explain(
    root: Path, installed: tuple[Path, Run]
) -> None:
    folder, run = installed
    found = run(
        *("pip", "download", "--no-index", "--no-deps", "--find-links", "dist"),
        *("--dest", "found", "onnxplain-server"),
    )
    model = str(root / "examples" / "iris" / "linear.onnx")
    described = json.loads(run("onnxplain", "describe", model))
    files = run("python", "-c", "import onnxplain, onnxplain_server as s; print(s.__file__)")
    answer = json.loads(explained(root, run))

    assert "Successfully downloaded onnxplain-server" in found
    assert described["model"]["outputNames"] == ["variable"]
    assert files.startswith(str(folder))
    assert len(answer["explanations"][0]["permutationImportance"]["importances"]) == 4


@pytest.mark.slow
def test_installed_files_draw_as_long_as_the_renderer_is_there(
    root: Path, installed: tuple[Path, Run]
) -> None:
    folder, run = installed
    (folder / "answer.json").write_text(explained(root, run), encoding="utf-8")
    draw = ["onnxplain", "plot", "answer.json", "--name", "permutation-importance"]
    assert run(*draw).startswith("<svg")
    run("pip", "uninstall", "--yes", "vl-convert-python")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        run(*draw)
    assert "pip install 'onnxplain-server[render]'" in refused.value.stderr
    assert run(*draw, "--format", "vega-lite").startswith("{")


@pytest.mark.slow
def test_the_wheel_for_all_systems_needs_neither_compiler_nor_network(
    dist: Path, tmp_path: Path
) -> None:
    (server,) = dist.glob("onnxplain_server-*-none-any.whl")

    environment = installation.install(pythons.newest(), dist, server, tmp_path)
    done = installation.demonstrate(environment, tmp_path / "demo")

    assert done.errors.count("numba compiles loops") == 1
    assert "later starts find them compiled" in done.errors
