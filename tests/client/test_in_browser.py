"""Notebooks in JupyterLab, the classic notebook and as HTML, in Chromium: plots are pictures."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from onnxplain.display import figure, rendering
from onnxplain.results.plots import Plot

from tools.missing_programs import DEMAND

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv-notebook"
EXAMPLES = Path("clients/python/examples")
SETTINGS = {
    # Cells that are not on the screen are shown too, and nothing is asked of other hosts.
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}

Found = dict[str, Any]


@pytest.fixture(scope="module")
def environment() -> Path:
    """Return the programs of Jupyter and Playwright."""
    if not (ENVIRONMENT / ".made").exists():
        reason = "no environment for notebooks: make .venv-notebook/.made"
        (pytest.fail if os.environ.get(DEMAND) else pytest.skip)(reason)
    return ENVIRONMENT / "bin"


@pytest.fixture(scope="module")
def tree(executed: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the example, as it is and as it was run, beside what it reads."""
    tree = tmp_path_factory.mktemp("tree")
    (tree / "examples").symlink_to(ROOT / "examples")
    (tree / EXAMPLES).mkdir(parents=True)
    live = deepcopy(executed)
    for cell in live.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    nbformat.write(live, tree / EXAMPLES / "live.ipynb")
    for name in ("run", "untrusted"):
        # Each has another content, so that the second is not trusted with the first.
        notebook = executed | {"metadata": executed.metadata | {"title": name}}
        nbformat.write(nbformat.from_dict(notebook), tree / EXAMPLES / f"{name}.ipynb")
    return tree


@pytest.fixture(scope="module")
def jupyter(
    environment: Path, tree: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., str]]:
    """Run commands of Jupyter, with a home of their own and kernels of this environment."""
    home = tmp_path_factory.mktemp("jupyter")
    variables = {
        "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_PATH": str(home / "here"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
    }
    for name, settings in SETTINGS.items():
        write(home / "settings/@jupyterlab" / f"{name}.jupyterlab-settings", settings)
    kernel = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": kernel, "display_name": "Python 3", "language": "python"}
    write(home / "here/kernels/python3/kernel.json", spec)

    def run(*words: str) -> str:
        command = [str(environment / "jupyter"), *words]
        done = subprocess.run(
            command, env=os.environ | variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    command = [str(environment / "jupyter"), "lab", "--no-browser", "--allow-root", "--port=0"]
    options = ["--IdentityProvider.token=secret", f"--ServerApp.root_dir={tree}"]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            [*command, *options], env=os.environ | variables, stdout=log, stderr=log
        )
    run.address = address(home, server)  # type: ignore[attr-defined]
    yield run
    server.terminate()
    server.wait()


def write(file: Path, document: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document), encoding="utf-8")


def address(home: Path, server: subprocess.Popen[bytes]) -> str:
    """Wait until the server has written where it listens."""
    while not (files := list((home / "runtime").glob("jpserver-*.json"))):
        assert server.poll() is None, (home / "log").read_text(encoding="utf-8")
        time.sleep(0.1)
    port = json.loads(files[0].read_text(encoding="utf-8"))["port"]
    return f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def found(
    environment: Path,
    tree: Path,
    jupyter: Any,
    program: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Found:
    """Return what the browser shows of each page; screenshots stand beside it."""
    folder = tmp_path_factory.mktemp("seen")
    jupyter("trust", str(tree / EXAMPLES / "run.ipynb"))
    jupyter("nbconvert", "--to", "html", str(tree / EXAMPLES / "run.ipynb"))
    buttons(tree / "buttons.html", tree / EXAMPLES / "run.ipynb")
    at, token = jupyter.address, "?token=secret"
    task = {
        "chromium": program("chromium"),
        "packages": str(ROOT / "tools/node_modules"),
        "pages": {
            "lab": ("lab", f"{at}/lab/tree/{EXAMPLES}/live.ipynb{token}"),
            "untrusted": ("untrusted", f"{at}/lab/tree/{EXAMPLES}/untrusted.ipynb{token}&reset"),
            "classic": ("opened", f"{at}/notebooks/{EXAMPLES}/run.ipynb{token}"),
            "html": ("opened", (tree / EXAMPLES / "run.html").as_uri()),
            "buttons": ("clicked", (tree / "buttons.html").as_uri()),
        },
    }
    (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
    script = Path(__file__).with_name("in_browser.py")
    command = [environment / "python", script, folder / "task.json", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    seen: Found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    return seen


def plots_of(notebook: Path) -> list[Plot]:
    """Return the plots that a notebook shows one by one."""
    cells = nbformat.read(notebook, as_version=4).cells
    bundles = [o.get("data", {}) for cell in cells for o in cell.get("outputs", ())]
    kind = "application/vnd.vegalite.v6+json"
    shown = [bundle for bundle in bundles if kind in bundle]
    return [Plot("", "", b["text/plain"], json.dumps(b[kind])) for b in shown]


def buttons(page: Path, notebook: Path) -> None:
    """Write a page of two plots, as they are where no renderer is installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendering, "_MODULE", "vl_convert_that_is_not_installed")
        plots = [figure.figure(plot) for plot in plots_of(notebook)[:2]]
    page.write_text("<!DOCTYPE html>\n<meta charset=utf-8>\n" + "\n".join(plots), encoding="utf-8")


def assert_visible(picture: dict[str, Any]) -> None:
    """A picture has a size, several colors, and more than its background."""
    assert min(picture["width"], picture["height"]) > 100, picture
    assert picture["colors"] > 10, picture
    assert picture["ink"] > 0.01, picture


@pytest.mark.parametrize("page", ["lab", "untrusted", "classic", "html"])
def test_every_plot_is_a_picture(found: Found, tree: Path, page: str) -> None:
    pictures = found[page]["pictures"]
    described = [plot.description for plot in plots_of(tree / EXAMPLES / "run.ipynb")]

    assert len(described) > 20
    spoken = [picture["alt"] or "" for picture in pictures]
    assert [d for d in described if not any(text.endswith(d) for text in spoken)] == []
    for picture in pictures:
        assert_visible(picture)


@pytest.mark.parametrize("page", ["lab", "classic", "html"])
def test_an_interactive_plot_is_drawn_in_its_frame(found: Found, page: str) -> None:
    *_, plot = found[page]["pictures"]

    assert plot["alt"] is None  # an SVG in place of an image
    assert_visible(plot)


def test_without_a_renderer_a_click_draws_by_the_files_named(found: Found) -> None:
    """Chromium compares them with the digests: it runs no others."""
    page = found["buttons"]

    assert page["asked_before_click"] == []
    assert page["asked"] == [source["url"] for source in figure.SOURCES]
    assert page["errors"] == []
    assert len(page["pictures"]) == 2
    for picture in page["pictures"]:
        assert_visible(picture)


def test_a_plot_asks_nothing_of_other_hosts(found: Found) -> None:
    assert found["lab"]["asked"] == []
    assert found["untrusted"]["asked"] == []
