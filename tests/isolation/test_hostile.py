"""Hostile models: each is refused with a reason or answered right, and so is the next request."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hostile import answers, files, forests, garbage, graphs, greedy
from hostile.base import Hostile, model, node
from onnxplain_server.adapters.workers.isolated import Isolated
from onnxplain_server.adapters.workers.worker_process import Worker
from onnxplain_server.core.errors import Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

TOUCHED_BYTES = 100 * 2**20
"""Room for pages of libraries that were mapped at the fork and are first read by the worker."""

GOOD = model([node("Neg", "X")]).SerializeToString()
OTHERS = [
    *garbage.hostiles(),
    *files.hostiles(),
    *greedy.memory(),
    *greedy.empty_loops(),
    *graphs.hostiles(),
    *answers.hostiles(),
]
FORESTS = [*forests.hostiles()]
ASKED = [*OTHERS, *FORESTS[::7], *(each for each in FORESTS[1::7] if each.may_answer)]
"""Of forests some: all that are refused, the gate's own tests ask for, without a process each."""
PRIVATE = re.compile(
    r"/(home|tmp|usr|etc|root|proc|work)/|site-packages|onnxruntime_src|Traceback|memfd|0x[0-9a-f]{6}"
)
CANARY = "c4n4ry"


def name(hostile: Hostile) -> str:
    return hostile.name


@pytest.fixture
def unchanged(isolated: Isolated, ask):
    """The server's process lives on, and answers."""
    pid = os.getpid()
    yield
    assert ask.refusal(GOOD) is None
    assert os.getpid() == pid
    assert isolated.ready


def test_there_are_at_least_250_of_them() -> None:
    names = [hostile.name for hostile in [*OTHERS, *FORESTS]]

    assert len(set(names)) == len(names) >= 250


@pytest.mark.parametrize("hostile", ASKED, ids=name)
def test_a_hostile_model_is_refused_or_answered_right(
    ask, reference, unchanged: None, hostile: Hostile, caplog
) -> None:
    refusal = ask.refusal(hostile.content)

    if refusal is None:
        assert hostile.may_answer
        assert ask.same(ask(hostile.content), reference(hostile.content))
    else:
        assert refusal.reason in hostile.reasons, refusal.message
        assert not PRIVATE.search(refusal.message), refusal.message
        assert refusal.message.isprintable()
    assert CANARY not in caplog.text


def peaks_of(pid: int) -> list[int]:
    """Return the most bytes that a process has held; nothing where it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return []
    return [1024 * int(peak) for peak in re.findall(r"VmHWM:\s+(\d+)", status)]


@pytest.mark.parametrize("hostile", list(greedy.memory()), ids=name)
def test_memory_stays_within_the_worker_s_cap(
    isolated: Isolated, ask, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted from what the zygote holds: a fork starts with its parent's pages."""
    peaks: list[int] = []
    kill = Worker.kill
    pool = isolated._pool

    def measured_kill(worker: Worker) -> None:
        peaks.extend(peaks_of(worker.pid))
        kill(worker)

    monkeypatch.setattr(Worker, "kill", measured_kill)

    refusal = ask.refusal(hostile.content)

    assert refusal is not None
    for worker in pool._warm:
        peaks.extend(peaks_of(worker.pid))
    assert peaks or refusal.reason is Reason.WORKER_DIED, refusal
    assert pool._zygote is not None
    [at_the_fork] = peaks_of(pool._zygote._process.pid)
    growth = max(peaks, default=0) - at_the_fork
    assert growth < pool._settings.budget.memory_bytes + TOUCHED_BYTES


@pytest.mark.parametrize(("location", "place"), [("canary.bin", "."), ("etc/passwd", "/")])
def test_no_byte_of_a_file_comes_back(
    ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str, place: str
) -> None:
    """Also where the server itself runs in the folder of the file."""
    (tmp_path / "canary.bin").write_text(CANARY)
    monkeypatch.chdir(tmp_path if place == "." else place)
    for hostile in files.hostiles({"planted": location}):
        refusal = ask.refusal(hostile.content)
        assert refusal.reason is Reason.EXTERNAL_DATA
        assert CANARY not in refusal.message
        assert "root:" not in refusal.message


@pytest.mark.slow
def test_with_the_gate_open_the_worker_dies_and_the_server_lives(own) -> None:
    from onnxplain_server.core.errors import ExplainError  # noqa: PLC0415
    from onnxplain_server.core.model_limits import ModelLimits  # noqa: PLC0415 - the one open gate

    runner = own(limits=ModelLimits(tree_depth=10**6), timeouts=own.timeouts(load=600))
    deep = own.request(forests.chain(60_000).SerializeToString())
    for reason in (Reason.WORKER_DIED, Reason.WORKER_DIED, Reason.MODEL_QUARANTINED):
        with pytest.raises(ExplainError) as died:
            runner.answer(Call(ServiceMethod.EXPLAIN, deep), own.call(model_key="deep"))
        assert died.value.reason is reason
    assert "crashed" in died.value.message

    runner.answer(Call(ServiceMethod.EXPLAIN, own.request(GOOD)), own.call(model_key="good"))
