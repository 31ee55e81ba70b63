"""Sessions of a server's cluster: workers that were taken over, and what failures say."""

from __future__ import annotations

import math
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import pytest
from onnxplain_server.adapters.cluster.dask_words import with_cause
from onnxplain_server.adapters.cluster.server import task_frames as frames
from onnxplain_server.adapters.cluster.server import task_reader
from onnxplain_server.adapters.cluster.server.cluster_sessions import ClusterSessions
from onnxplain_server.adapters.cluster.server.socket_workers import SocketWorkers
from onnxplain_server.adapters.cluster.server.task_frames import ANSWERED, TaskKind
from onnxplain_server.adapters.cluster.server.task_session import serve_session
from onnxplain_server.adapters.network_processes.socket_frames import (
    BrokenError,
    SocketFrame,
    pack_error,
    receive,
    send,
    unpack_error,
)
from onnxplain_server.adapters.runner.on_workers.worker_batch_size import CALLS_AHEAD
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.sources import SourceBlocks
from onnxplain_server.transport.admission.request_control import RequestControl
from onnxplain_server.trees.streaming.workers import TASKS_AHEAD, SharedFile

BLOCKS = SourceBlocks(b"", ("a",), (("s3://rows/a.parquet", 7, "v1"),))
WIDTH = 3
NO_FILES = SourceBlocks(b"", (), ())
OPEN_PREDICTIONS = SocketFrame(TaskKind.OPEN_PREDICTIONS, 0, frames.pack_open(b"model", b"job"))
OPEN = SocketFrame(TaskKind.OPEN, 0, frames.pack_open(b"job", b"pass"))
PATIENCE = 60.0
ENDLESS = RequestControl(math.inf)


def task(number: int, content: bytes = frames.pack_task((0, 1))) -> SocketFrame[TaskKind]:
    return SocketFrame(TaskKind.TASK, number, content)


@dataclass
class Queue:
    """`Workers` and their queue, of so many threads, which compute only what they are told to."""

    width_told: int = WIDTH
    error: ExplainError | None = None
    answers: bool = True
    result: bytes = b"sums"
    opened: list[tuple[bytes, bytes, Sequence[SharedFile]]] = field(default_factory=list)
    callers: list[str] = field(default_factory=list)
    tasks: list[int] = field(default_factory=list)
    most: int = 0
    closed: int = 0

    @contextmanager
    def open(
        self, job: bytes, work: bytes, files: Sequence[SharedFile], caller: str = ""
    ) -> Iterator[Queue]:
        self.opened.append((job, work, files))
        self.callers.append(caller)
        try:
            yield self
        finally:
            self.closed += 1

    @contextmanager
    def open_predictions(self, model: bytes, job: bytes, caller: str) -> Iterator[Queue]:
        with self.open(model, job, (), caller) as opened:
            yield opened

    def width(self) -> int:
        return self.width_told

    def submit(self, number: int, _task: Any) -> None:
        if self.error is not None:
            raise self.error
        self.tasks.append(number)
        self.most = max(self.most, len(self.tasks))

    def replies(self, _seconds: float) -> Sequence[tuple[int, bytes]]:
        done = [(number, self.result) for number in self.tasks] if self.answers else []
        del self.tasks[: len(done)]
        return done


@dataclass
class Session:
    """The process's end of a session, on a thread, and the ends of worker and server."""

    queue: Queue
    worker: socket.socket
    server: socket.socket
    thread: threading.Thread

    def send(self, *sent: SocketFrame[TaskKind]) -> None:
        with suppress(BrokenError):  # it may hang up behind the head of a frame
            for frame in sent:
                send(self.worker, frame.kind, frame.number, frame.content)

    def is_cut_off(self) -> bool:
        """Read until the process hangs up."""
        self.worker.settimeout(PATIENCE)
        with suppress(ConnectionResetError):
            while self.worker.recv(2**16):
                pass
        self.thread.join(PATIENCE)
        return not self.thread.is_alive()


@pytest.fixture
def session() -> Iterator[Callable[..., Session]]:
    """Begin sessions with queues."""
    made = []

    def begin(queue: Queue, blocks: SourceBlocks = BLOCKS) -> Session:
        worker, end = socket.socketpair()
        server, binding = socket.socketpair()
        thread = threading.Thread(target=serve_session, args=(lambda: queue, binding, end))
        thread.start()
        server.sendall(frames.pack_binding("a caller and a model", blocks.pack()))
        server.shutdown(socket.SHUT_WR)
        made.append(Session(queue, worker, server, thread))
        return made[-1]

    yield begin
    for each in made:
        each.worker.close()
        each.server.close()
        each.thread.join(PATIENCE)
        assert not each.thread.is_alive()


OUT_OF_TURN: dict[str, Sequence[SocketFrame[TaskKind]]] = {
    "a task before its pass": [task(0)],
    "the end of no pass": [SocketFrame(TaskKind.CLOSE)],
    "a pass in a pass": [OPEN, OPEN],
    "a number twice": [OPEN, task(0), task(0)],
    "a task of three numbers": [OPEN, task(0, bytes(12))],
    "sums": [OPEN, SocketFrame(TaskKind.RESULT, 0, b"sums")],
    "a width": [OPEN, SocketFrame(TaskKind.WIDTH, 0, frames.pack_width(10**6))],
    "a failure": [SocketFrame(TaskKind.FAILED, 0, pack_error(frames.WITHHELD))],
    "predictions beside a table": [OPEN_PREDICTIONS],
    "a job longer than its frame": [SocketFrame(TaskKind.OPEN, 0, b"\xff" * 8)],
}


@pytest.mark.parametrize("name", OUT_OF_TURN)
def test_frames_out_of_turn_end_their_session(session: Any, name: str) -> None:
    queue = Queue(answers=False)
    begun = session(queue)
    begun.send(*OUT_OF_TURN[name])

    assert begun.is_cut_off()
    assert queue.closed == len(queue.opened)
    assert not begun.server.recv(1)  # nothing of it is told as a failure of the cluster


def test_a_failure_while_the_session_looks_is_told(monkeypatch) -> None:
    """The reader fails, and its thread ends, after it was found alive or well."""
    worker, end = socket.socketpair()
    rules = task_reader.TaskRules(frames.IN_PASS, TASKS_AHEAD, frames.unpack_task)
    reader = task_reader.TaskReader(end, Queue(), rules)
    is_alive = reader._thread.is_alive

    def fails_meanwhile() -> bool:
        send(worker, TaskKind.RESULT, 0, b"sums")
        reader._thread.join(PATIENCE)
        return is_alive()

    with worker, end, reader:
        monkeypatch.setattr(reader._thread, "is_alive", fails_meanwhile)
        with pytest.raises(BrokenError):
            reader.is_reading()


def test_a_frame_that_claims_too_much_is_not_waited_for(session: Any) -> None:
    begun = session(Queue())
    begun.worker.sendall(struct.pack("<cIQ", b"O", 0, 2**60))

    assert begun.is_cut_off()


def test_tasks_beyond_those_allowed_end_their_session(session: Any) -> None:
    """Each holds memory of the process, which serves all requests, and of the scheduler."""
    queue = Queue(answers=False)
    begun = session(queue)
    begun.send(OPEN)
    assert receive(begun.worker, ANSWERED).kind is TaskKind.WIDTH
    begun.send(*map(task, range(TASKS_AHEAD * WIDTH + 1)))

    assert begun.is_cut_off()
    assert queue.most == TASKS_AHEAD * WIDTH
    assert queue.closed == 1


def test_as_many_tasks_as_allowed_are_computed_pass_after_pass(session: Any) -> None:
    queue = Queue(answers=False)
    begun = session(queue)
    for _ in range(2):
        begun.send(OPEN)
        assert receive(begun.worker, ANSWERED).kind is TaskKind.WIDTH
        begun.send(*map(task, range(TASKS_AHEAD * WIDTH)))
        while len(queue.tasks) < TASKS_AHEAD * WIDTH:
            pass
        queue.answers = True
        numbers = [receive(begun.worker, ANSWERED).number for _ in range(queue.most)]
        begun.send(SocketFrame(TaskKind.CLOSE))
        assert receive(begun.worker, ANSWERED).kind is TaskKind.CLOSED
        assert sorted(numbers) == [*range(queue.most)]
        queue.answers = False

    assert queue.opened == 2 * [(b"job", b"pass", [SharedFile(*BLOCKS.files[0])])]


def test_a_session_without_files_predicts_and_does_nothing_else(session: Any) -> None:
    queue = Queue()
    begun = session(queue, NO_FILES)
    begun.send(OPEN_PREDICTIONS)
    assert receive(begun.worker, ANSWERED).kind is TaskKind.WIDTH
    begun.send(task(4, b"rows"))
    result = receive(begun.worker, ANSWERED)
    assert (result.kind, result.number, result.content) == (TaskKind.RESULT, 4, b"sums")
    begun.send(SocketFrame(TaskKind.CLOSE))
    assert receive(begun.worker, ANSWERED).kind is TaskKind.CLOSED
    begun.send(OPEN)

    assert begun.is_cut_off()
    assert queue.opened == [(b"model", b"job", ())]


def test_rows_beyond_those_allowed_end_their_session(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_reader, "ROWS_LIMIT", 1_000)
    queue = Queue(answers=False)
    begun = session(queue, NO_FILES)
    begun.send(OPEN_PREDICTIONS)
    assert receive(begun.worker, ANSWERED).kind is TaskKind.WIDTH
    begun.send(task(0, bytes(600)), task(1, bytes(400)), task(2, bytes(1)))

    assert begun.is_cut_off()
    assert queue.tasks == [0, 1]


def test_both_ends_may_send_more_than_a_socket_holds(session: Any) -> None:
    """Neither waits until the other has read what it sent before."""
    queue = Queue(result=bytes(2**20))
    begun = session(queue, NO_FILES)
    begun.send(OPEN_PREDICTIONS)
    assert receive(begun.worker, ANSWERED).kind is TaskKind.WIDTH
    begun.send(*(task(number, bytes(2**20)) for number in range(CALLS_AHEAD * WIDTH)))
    numbers = [receive(begun.worker, ANSWERED).number for _ in range(CALLS_AHEAD * WIDTH)]

    assert sorted(numbers) == [*range(CALLS_AHEAD * WIDTH)]


class Process:
    """Process of a session, on a thread of this one."""

    is_alive = True

    def __init__(self, connected: Callable[[], Any]) -> None:
        self._connected = connected

    def hand_over(self, binding: socket.socket, end: socket.socket) -> None:
        ends = (binding.dup(), end.dup())
        threading.Thread(target=serve_session, args=(self._connected, *ends)).start()

    def close(self) -> None: ...


def failure_of(error: Exception, *, told_by: str = "submit") -> ExplainError:
    """The error that a server gets where its cluster fails."""
    queue = Queue(error=error if told_by == "submit" else None)  # type: ignore[arg-type]

    def connected() -> Queue:
        if told_by == "connect":
            raise error
        return queue

    sessions = ClusterSessions("tcp://scheduler:1", (), 2**30, is_confined=False)
    sessions._process = Process(connected)  # type: ignore[assignment]
    with (
        pytest.raises(ExplainError) as told,
        sessions.session(BLOCKS.pack(), "a caller and a model", ENDLESS) as end,
        SocketWorkers(end).open(b"job", b"pass", ()) as opened,
    ):
        ask(opened)
    return told.value


def ask(opened: Any) -> None:
    """Submit a task, and wait for its sums or an error."""
    opened.submit(0, (0, 1))
    while not opened.replies(PATIENCE):
        pass


@pytest.mark.parametrize("told_by", ["connect", "submit"])
@pytest.mark.parametrize("reason", [Reason.UNAVAILABLE, Reason.WORKER_DIED])
def test_a_failure_of_the_cluster_reaches_the_server_without_addresses(
    reason: Reason, told_by: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has Dask's words."""
    message = with_cause("workers were lost", "the last was tcp://10.0.0.7:4321")
    error = failure_of(ExplainError(reason, message), told_by=told_by)

    assert error.reason is reason
    assert error.message == (
        "the server's Dask cluster: workers were lost; the server's log has the cause"
    )
    assert "tcp://10.0.0.7:4321" in caplog.text


def test_an_error_of_the_table_is_the_worker_s_to_tell() -> None:
    error = failure_of(ExplainError(Reason.SOURCE_NOT_LISTED, "no list", "table.uris"))

    assert (error.reason, error.message, error.field) == (
        Reason.SOURCE_NOT_LISTED,
        "no list",
        "table.uris",
    )


def test_a_reason_that_is_neither_is_unavailable() -> None:
    error = failure_of(ExplainError(Reason.INTERNAL, "array of wrong shape"))

    assert error.reason is Reason.UNAVAILABLE


def test_an_unexpected_failure_is_told_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    error = failure_of(RuntimeError("secret"), told_by="connect")

    assert error.reason is Reason.UNAVAILABLE
    assert "secret" not in error.message
    assert "secret" in caplog.text


class Mortal(Process):
    """One that ends as soon as it has the table of a session."""

    def hand_over(self, binding: socket.socket, end: socket.socket) -> None:
        threading.Thread(target=self._die, args=(binding.dup(), end.dup())).start()

    @staticmethod
    def _die(binding: socket.socket, end: socket.socket) -> None:
        with binding, end:
            while binding.recv(2**16):
                pass


def test_the_end_of_the_process_is_told() -> None:
    sessions = ClusterSessions("tcp://scheduler:1", (), 2**30, is_confined=False)
    sessions._process = Mortal(Queue)  # type: ignore[assignment]
    with (
        pytest.raises(ExplainError, match=r"process .* ended; try again") as told,
        sessions.session(BLOCKS.pack(), "a caller and a model", ENDLESS) as end,
        SocketWorkers(end).open(b"job", b"pass", ()) as opened,
    ):
        ask(opened)

    assert told.value.reason is Reason.UNAVAILABLE


class Dripping(Process):
    """One that tells how the cluster failed, a byte at a time."""

    def hand_over(self, binding: socket.socket, end: socket.socket) -> None:
        threading.Thread(target=self._drip, args=(binding.dup(), end.dup())).start()

    @staticmethod
    def _drip(binding: socket.socket, end: socket.socket) -> None:
        with binding, end, suppress(OSError):
            while binding.recv(2**16):
                pass
            told = SocketFrame(TaskKind.FAILED, 0, bytes(frames.FAILURE_LIMIT))
            ours, theirs = socket.socketpair()
            with ours, theirs:
                send(ours, told.kind, told.number, told.content)
                for byte in theirs.recv(2**16):
                    binding.sendall(bytes([byte]))
                    time.sleep(0.02)


def test_a_failure_that_is_told_slowly_does_not_outlast_the_deadline() -> None:
    sessions = ClusterSessions("tcp://scheduler:1", (), 2**30, is_confined=False)
    sessions._process = Dripping(Queue)  # type: ignore[assignment]
    control = RequestControl(0.3)
    with pytest.raises(ExplainError) as told, sessions.session(BLOCKS.pack(), "key", control):
        raise frames.WITHHELD

    assert told.value.reason is Reason.DEADLINE_EXCEEDED


@pytest.mark.parametrize("opening", [OPEN, OPEN_PREDICTIONS])
def test_tasks_name_their_caller_and_model(session: Any, opening: SocketFrame[TaskKind]) -> None:
    """By a digest, so that those of others use no process of theirs."""
    queue = Queue()
    blocks = NO_FILES if opening is OPEN_PREDICTIONS else BLOCKS
    begun = session(queue, blocks)
    begun.send(opening)
    assert receive(begun.worker, ANSWERED).kind is TaskKind.WIDTH

    assert queue.callers == [sha256(b"a caller and a model").hexdigest()]


def test_a_worker_gives_no_reason_of_the_server() -> None:
    for reason in (Reason.UNAVAILABLE, Reason.WORKER_DIED, Reason.INTERNAL):
        packed = pack_error(ExplainError(reason, "text"))
        with pytest.raises(BrokenError):
            unpack_error(packed, frames.OF_WORKERS)
    with pytest.raises(BrokenError):
        unpack_error(pack_error(ExplainError(Reason.INVALID_MODEL, "text")), frames.OF_CLUSTER)
