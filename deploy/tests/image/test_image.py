"""The image that was built, run by its own configuration: no root, nothing to write but /tmp.

`make test-image` builds it and runs this, as root, since it mounts the image's file system. BUILDAH
is the command, TEST_IMAGE the image's name.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import onnxplain
import pytest
from image_root import PATIENCE, Image, Server, mounted, running
from onnxplain_server.adapters.workers.process_status import processor_seconds
from onnxplain_server.trees.kernels.compiled_module import Level, levels, processor_features

from tools.waiting import until

MIAMI = Path(__file__).parents[3] / "examples/miami/miami.onnx"
NOWHERE = "/nonexistent"
READY_SECONDS = 5.0
LARGEST_BYTES = 467 * 2**20
IDLE_BYTES = 340 * 2**20

OWN_LEVEL = next(each for each in levels() if each.features <= processor_features())

# Names the module of compiled loops for a processor with the features given, and numba's place.
LOOPS = """
import importlib.util, sys
from onnxplain_server.trees.kernels import compiled_module
features = frozenset(sys.argv[1:]) or compiled_module.processor_features()
compiled_module.processor_features = lambda: features
from onnxplain_server.adapters.programs.preload import load
from onnxplain_server.trees.kernels.compile import KERNELS
load()
print(compiled_module.compiled_module().__name__, len(KERNELS), importlib.util.find_spec("numba"))
"""

INSTALLED = """
import json
from importlib.metadata import distributions
print(json.dumps({each.metadata["Name"]: each.version for each in distributions()}))
"""


@pytest.fixture(scope="session")
def image() -> Iterator[Image]:
    with mounted(os.environ["TEST_IMAGE"]) as found:
        yield found


@pytest.fixture(scope="session")
def server(image: Image) -> Iterator[Server]:
    with running(image) as found:
        yield found


def test_the_server_has_no_rights_and_can_gain_none(server: Server) -> None:
    status = server.status()

    assert status["Uid"].split() == ["65532"] * 4
    assert status["Gid"].split() == ["65532"] * 4
    assert int(status["CapEff"], 16) == 0
    assert int(status["CapPrm"], 16) == 0
    assert status["NoNewPrivs"] == "1"


def test_nothing_but_the_folder_it_works_in_can_be_written(image: Image) -> None:
    working = image.configuration["WorkingDir"]
    tried = ["/", "/opt/onnxplain", "/var", working]
    script = "; ".join(f"touch {place}/x 2> /dev/null && echo {place}" for place in tried)

    assert image.output("sh", "-c", f"{script}; true").split() == [working]


def test_it_explains(server: Server) -> None:
    names = ["LND_SQFOOT", "TOT_LVG_AREA"]
    with onnxplain.local() as local, onnxplain.connect(server.endpoint) as client:
        found, expected = (
            each.explain(*miami(20), onnxplain.PartialDependence(features=names))
            for each in (client, local)
        )

    for ours, theirs in zip(
        found.partial_dependence.curves, expected.partial_dependence.curves, strict=True
    ):
        assert np.allclose(ours.values, theirs.values)


def test_its_health_check_passes(image: Image, server: Server) -> None:
    kind, *words = image.configuration["Healthcheck"]["Test"]

    assert kind == "CMD"
    image.output(*words, "--endpoint", server.endpoint)


@pytest.mark.parametrize(
    ("features", "level"),
    [
        pytest.param((), OWN_LEVEL, id="this processor"),
        pytest.param(("fpu",), levels()[-1], id="the oldest processor"),
    ],
)
def test_every_loop_is_compiled_already(
    image: Image, features: tuple[str, ...], level: Level
) -> None:
    """Also where no place at all can be written, and without numba."""
    module, count, numba = image.output("python", "-c", LOOPS, *features, HOME=NOWHERE).split()

    assert f"_compiled_{level.name}_" in module
    assert int(count) > 5
    assert numba == "None"


def test_it_drains_on_sigterm_without_losing_a_call(image: Image) -> None:
    settings = {"ONNXPLAIN_CACHE_BYTES": "0", "ONNXPLAIN_GRACE_SECONDS": f"{PATIENCE:g}"}
    with running(image, **settings) as server, ThreadPoolExecutor(2) as callers:
        asked = [callers.submit(long_call, server, seed) for seed in range(2)]
        until(lambda: server.running() == 2)
        server.process.send_signal(signal.SIGTERM)
        answers = [each.result(PATIENCE) for each in asked]
        # A second signal would end it at once.
        assert server.process.wait(PATIENCE) == 0

    assert all(answer.receipt.predicted_row_count > 0 for answer in answers)


def long_call(server: Server, seed: int):
    with onnxplain.connect(server.endpoint, retry_count=0) as client:
        return client.explain(
            *miami(200),
            onnxplain.Interactions(),
            engine="BLACK_BOX",
            seed=seed,
            plots=False,
        )


def miami(row_count: int) -> tuple[bytes, dict[str, list[float]]]:
    """The model of the examples, and rows that are none of its own."""
    content = MIAMI.read_bytes()
    names = columns(onnx.load_from_string(content))
    rng = np.random.default_rng(0)
    return content, {name: rng.uniform(0, 5_000, row_count).tolist() for name in names}


def columns(model: onnx.ModelProto) -> Sequence[str]:
    """The names of the columns of the model's input, in order."""
    said = {each.key: each.value for each in model.metadata_props}
    names: list[str] = json.loads(said["feature_names"])
    return names


def test_it_is_ready_soon(image: Image, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the machine is free; of a busy one only the processor's time is judged."""
    with running(image) as server:
        seconds = seconds_of_all(server.process.pid)
        with capsys.disabled():
            print(f"\nready after {server.seconds:.1f} s, by {seconds:.1f} s of processor time")  # noqa: T201 - a figure to read

    assert seconds < 3 * READY_SECONDS


def seconds_of_all(pid: int) -> float:
    """Processor time of a process and those below it."""
    return sum(map(processor_seconds, {pid, *below(pid)}))


def test_its_packages_are_no_larger_than_they_were(
    image: Image, capsys: pytest.CaptureFixture[str]
) -> None:
    """With code compiled already. A library that grows, or comes new, has to be seen."""
    files = (image.root / "opt/onnxplain").rglob("*")
    size = sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())
    with capsys.disabled():
        print(f"\npackages take {size / 2**20:.0f} MiB")  # noqa: T201 - a figure to read

    assert size < LARGEST_BYTES


def test_it_takes_little_memory_when_idle(image: Image, capsys: pytest.CaptureFixture[str]) -> None:
    """With two zygotes, a decoder, and two workers that wait for their first request."""
    with running(image, ONNXPLAIN_RUNNING_COUNT="2") as server:
        until(lambda: len(below(server.process.pid)) >= 5)
        size = memory_of({server.process.pid, *below(server.process.pid)})
    with capsys.disabled():
        print(f"\nan idle server takes {size / 2**20:.0f} MiB")  # noqa: T201 - a figure to read

    assert size < IDLE_BYTES


def below(pid: int) -> set[int]:
    """Processes below this one."""
    files = Path(f"/proc/{pid}/task").glob("*/children")
    children = {int(child) for each in files for child in each.read_text().split()}
    return children.union(*map(below, children))


def memory_of(pids: set[int]) -> int:
    """Memory of processes, whatever others share with them: each page of a file counts once."""
    own, files = 0, Counter[str]()
    for pid in pids:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        own += sum(map(int, re.findall(r"^Pss_Anon:\s+(\d+) kB", rollup, re.MULTILINE)))
        files |= resident_files(pid)  # the larger of both
    return 1024 * (own + files.total())


def resident_files(pid: int) -> Counter[str]:
    """Kilobytes of each file that a process has in memory unchanged."""
    sizes: Counter[str] = Counter()
    smaps = Path(f"/proc/{pid}/smaps").read_text()
    for mapping in re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", smaps, flags=re.MULTILINE):
        if path := re.match(r"\S+ \S+ \S+ \S+ \S+ +(/.*)\n", mapping):
            numbers = dict(re.findall(r"^(\w+): +(\d+) kB", mapping, re.MULTILINE))
            sizes[path[1]] += int(numbers["Rss"]) - int(numbers["Anonymous"])
    return sizes


def test_it_has_no_renderer_and_says_how_to_get_one(image: Image) -> None:
    plot = {"name": "sizes", "vegaLite": '{"mark": "point", "data": {"values": []}}'}
    answer = json.dumps({"explanations": [{"plots": [plot]}]})
    command = image.command("onnxplain", "plot", "-", "--format", "svg")
    asked = subprocess.run(
        command, input=answer, text=True, capture_output=True, timeout=PATIENCE, check=False
    )

    assert asked.returncode == 1
    assert "pip install 'onnxplain-server[render]' (RENDERER_MISSING)" in asked.stderr


def test_it_has_nothing_that_reads_uris(image: Image) -> None:
    installed = json.loads(image.output("python", "-c", INSTALLED))

    assert "obstore" not in installed
    assert "pyarrow" in installed


def test_the_list_of_parts_is_what_is_installed(image: Image) -> None:
    parts = json.loads((image.root / "opt/onnxplain/sbom.cdx.json").read_text())
    installed = json.loads(image.output("python", "-c", INSTALLED))

    assert parts["bomFormat"] == "CycloneDX"
    listed = {each["name"]: each["version"] for each in parts["components"]}
    named = parts["metadata"]["component"]
    assert {**listed, named["name"]: named["version"]} == installed


def test_its_labels_say_what_it_is(image: Image) -> None:
    labels = image.configuration["Labels"]
    said = {name.removeprefix("org.opencontainers.image."): labels[name] for name in labels}

    assert said["title"] == "onnxplain"
    assert said["version"] == image.output("onnxplain", "version").split()[-1]
    assert re.fullmatch(r"([0-9a-f]{40})?", said["revision"])
