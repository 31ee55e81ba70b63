"""States of operations of two real servers and a Redis, against a model, over gRPC and REST."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import onnxplain
import pytest
from google.protobuf.json_format import MessageToJson, ParseDict
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    precondition,
    rule,
    run_state_machine_as_test,
)
from onnxplain.requests.arguments import to_request
from onnxplain.transport.operation_calls import pages
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain.v1.operations_pb2 import OperationMetadata
from onnxplain_server.adapters.access.tokens import new_token, token_line

KEY = "0123456789abcdef"
LEASE, PATIENCE, PAUSE = 1.0, 300.0, 0.2
COUNT = int(os.environ.get("TEST_OPERATION_STATES", "4"))
STEPS, KILLS = 15, 3
"""Of an example. An operation fails after its fifth server was lost."""

OWNERS, SERVERS = st.sampled_from(["ada", "bob"]), st.integers(0, 1)
SURFACES = st.sampled_from(["grpc", "rest"])

_Found = TypeVar("_Found")


class Seen(NamedTuple):
    """What a surface shows of an operation. Once it has ended, nothing of it changes."""

    state: str
    end: str
    attempts: int


class Refused(Exception):  # noqa: N818 - an outcome
    """A call that was refused, with the reason."""


class OverGrpc:
    """Calls of one caller to one server over gRPC; none is repeated."""

    def __init__(self, server: Any, token: str) -> None:
        self._messages = onnxplain.connect(
            server.endpoint, token=token, timeout=60, retry_count=0
        ).messages

    def start(self, request: ExplainRequest, request_id: str) -> str:
        return str(self._call(partial(self._messages.start, request, **_named(request_id))).name)

    def get(self, name: str, seconds: float = 0) -> Seen:
        wait = partial(self._messages.operations.wait, name, seconds)
        found = self._call(wait if seconds else partial(self._messages.operations.get, name))
        metadata = OperationMetadata()
        found.metadata.Unpack(metadata)
        end = metadata.end_time.ToJsonString() if metadata.HasField("end_time") else ""
        state = OperationMetadata.State.Name(metadata.state)
        return Seen(state, end, metadata.attempt_count)

    def names(self) -> list[str]:
        found = partial(pages, self._messages.operations, "", None)
        return self._call(lambda: [each.name for each in found()])

    def cancel(self, name: str) -> None:
        self._call(partial(self._messages.operations.cancel, name))

    def delete(self, name: str) -> None:
        self._call(partial(self._messages.operations.delete, name))

    def read(self, name: str) -> ExplainResponse:
        return self._call(partial(self._messages.operations.read, name))

    @staticmethod
    def _call(call: Callable[[], _Found]) -> _Found:
        try:
            return call()
        except onnxplain.ExplainError as error:
            raise Refused(error.reason) from None


def _named(request_id: str) -> Mapping[str, Any]:
    return {"request_id": request_id, "labels": {}}


class OverRest:
    """The same over REST."""

    def __init__(self, server: Any, token: str) -> None:
        self._port, self._token = server.rest_port, token

    def start(self, request: ExplainRequest, request_id: str) -> str:
        query = f"explanations:start?request_id={request_id}"
        return str(self._ask("POST", query, MessageToJson(request).encode())["name"])

    def get(self, name: str, seconds: float = 0) -> Seen:
        metadata = self._ask("GET", f"{name}?wait={seconds:g}s" if seconds else name)["metadata"]
        return Seen(metadata["state"], metadata.get("endTime", ""), metadata.get("attemptCount", 0))

    def names(self) -> list[str]:
        return [each["name"] for each in self._ask("GET", "operations").get("operations", ())]

    def cancel(self, name: str) -> None:
        self._ask("POST", f"{name}:cancel")

    def delete(self, name: str) -> None:
        self._ask("DELETE", name)

    def read(self, name: str) -> ExplainResponse:
        return ParseDict(self._ask("GET", f"{name}/result"), ExplainResponse())

    def _ask(self, verb: str, path: str, body: bytes | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=60)) as connection:
            connection.request(verb, f"/v1/{path}", body, headers)
            reply = connection.getresponse()
            found = json.load(reply)
        if reply.status >= 400:
            raise Refused(found["reason"])
        return found


class Rig:
    """Two servers, of which any may be killed; each call goes to one of them."""

    def __init__(self, start: Callable[[], Any], tokens: Mapping[str, str], admin: Any) -> None:
        self._start, self._tokens, self.admin = start, tokens, admin
        self._servers = [start(), start()]
        self._calls: dict[tuple[int, str, str], Any] = {}
        self.unanswered = 0

    def kill(self, number: int) -> None:
        """End a server with all its workers, and start another in its place."""
        server = self._servers[number]
        for pid in (server.process.pid, *server.workers()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        server.process.wait()
        self._servers[number] = self._start()
        self._calls = {key: calls for key, calls in self._calls.items() if key[0] != number}

    def ask(self, where: tuple[int, str], owner: str, call: Callable[[Any], _Found]) -> _Found:
        """Call; again where Redis did not answer in time, as on a busy machine."""
        server, surface = where
        if (server, surface, owner) not in self._calls:
            made = {"grpc": OverGrpc, "rest": OverRest}[surface]
            calls = made(self._servers[server], self._tokens[owner])
            self._calls[server, surface, owner] = calls
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return call(self._calls[server, surface, owner])
            except Refused as refused:
                if str(refused) != "UNAVAILABLE" or time.monotonic() > end:
                    raise
                self.unanswered += 1
            time.sleep(PAUSE)


@dataclass
class Expected:
    """What the model knows of an operation; `end` once it was seen to have ended."""

    owner: str
    request: str
    request_id: str
    is_cancelled: bool = False
    end: Seen | None = None


class ServerStates(RuleBasedStateMachine):
    """What callers, operators and accidents may do; the model checks what the servers show."""

    known = Bundle("known")
    where = st.tuples(SERVERS, SURFACES)

    rig: Rig
    requests: Mapping[str, ExplainRequest]
    answers: Mapping[str, bytes]

    def __init__(self) -> None:
        super().__init__()
        self.rig.admin.flushall()
        self.expected: dict[str, Expected] = {}
        self.kills = self.unsure = 0

    @rule(
        target=known,
        where=where,
        owner=OWNERS,
        request=st.sampled_from(["quick", "long"]),
        request_id=st.sampled_from(["", "x"]),
    )
    def start(self, where: tuple[int, str], owner: str, request: str, request_id: str) -> str:
        own = self.of(owner)
        earlier = next((n for n, e in own.items() if request_id and e.request_id == request_id), "")
        before = self.rig.unanswered
        call = lambda calls: calls.start(self.requests[request], request_id)  # noqa: E731
        if earlier and own[earlier].request != request:
            assert self.refusal(where, owner, call) == "REQUEST_ID_IN_USE"
            return ""
        name: str = self.rig.ask(where, owner, call)
        # Without a request id, a start whose reply was lost has started one more.
        self.unsure += 0 if request_id else self.rig.unanswered - before
        if earlier:
            assert name == earlier
        else:
            assert name not in self.expected
            self.expected[name] = Expected(owner, request, request_id)
        return name

    @rule(where=where, name=known, owner=OWNERS)
    def get(self, where: tuple[int, str], name: str, owner: str) -> None:
        if name in self.of(owner):
            self.check(name, self.rig.ask(where, owner, lambda calls: calls.get(name)))
        elif name:
            reason = self.refusal(where, owner, lambda calls: calls.get(name))
            assert reason == "OPERATION_NOT_FOUND"

    @rule(where=where, name=known)
    def wait(self, where: tuple[int, str], name: str) -> None:
        """Wait for the end; the answer is that of Explain."""
        if name not in self.expected:
            return
        owner, end = self.expected[name].owner, time.monotonic() + PATIENCE
        while self.expected[name].end is None:
            assert time.monotonic() < end, f"{name} does not end"
            self.check(name, self.rig.ask(where, owner, lambda calls: calls.get(name, 5)))
        if self.expected[name].end.state == "SUCCEEDED":  # type: ignore[union-attr] # awaited
            answer = self.rig.ask(where, owner, lambda calls: calls.read(name))
            assert explanations(answer) == self.answers[self.expected[name].request]

    @rule(where=where, owner=OWNERS)
    def list(self, where: tuple[int, str], owner: str) -> None:
        found = self.rig.ask(where, owner, lambda calls: calls.names())
        own = [*self.of(owner)][::-1]
        assert [name for name in found if name in own] == own
        assert len(found) <= len(own) + self.unsure

    @rule(where=where, name=known)
    def cancel(self, where: tuple[int, str], name: str) -> None:
        if name in self.expected:
            self.expected[name].is_cancelled |= self.expected[name].end is None
            self.rig.ask(where, self.expected[name].owner, lambda calls: calls.cancel(name))

    @rule(where=where, name=consumes(known))
    def delete(self, where: tuple[int, str], name: str) -> None:
        if name not in self.expected:
            return
        owner = self.expected.pop(name).owner
        with suppress(Refused):  # of a repeated call, whose first reply was lost
            self.rig.ask(where, owner, lambda calls: calls.delete(name))
        reason = self.refusal(where, owner, lambda calls: calls.get(name))
        assert reason == "OPERATION_NOT_FOUND"

    @precondition(lambda self: self.kills < KILLS)
    @rule(server=SERVERS)
    def kill(self, server: int) -> None:
        self.kills += 1
        self.rig.kill(server)

    @rule()
    def flush(self) -> None:
        """Redis forgets all, so the servers do."""
        self.rig.admin.flushall()
        self.expected.clear()
        self.unsure = 0

    def teardown(self) -> None:
        """Each operation ends, and both servers show the same end on both surfaces."""
        for name in self.expected:
            for where in ((0, "grpc"), (1, "rest")):
                self.wait(where, name)
                self.get(where, name, self.expected[name].owner)
        for owner in ("ada", "bob"):
            self.list((0, "rest"), owner)

    def check(self, name: str, seen: Seen) -> None:
        """Compare what a server shows with what was seen before."""
        expected = self.expected[name]
        assert expected.end in {None, seen}
        if seen.end:
            assert seen.state == "SUCCEEDED" or (expected.is_cancelled, seen.state) == (
                True,
                "CANCELLED",
            )
            assert seen.attempts <= 1 + self.kills
            expected.end = seen

    def refusal(self, where: tuple[int, str], owner: str, call: Callable[[Any], object]) -> str:
        with pytest.raises(Refused) as caught:
            self.rig.ask(where, owner, call)
        return str(caught.value)

    def of(self, owner: str) -> dict[str, Expected]:
        """Return the operations of an owner, oldest first."""
        return {name: e for name, e in self.expected.items() if e.owner == owner}


def explanations(answer: ExplainResponse) -> bytes:
    return b"".join(each.SerializeToString(deterministic=True) for each in answer.explanations)


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, str]:
    found = {name: new_token() for name in ("ada", "bob")}
    lines = (token_line(name, token) for name, token in found.items())
    (tmp_path / "tokens").write_text("\n".join(lines))
    return found


@pytest.mark.slow
def test_two_servers_agree_with_the_model(
    serve: Callable[..., Any],
    redis_server: Any,
    tokens: dict[str, str],
    tmp_path: Path,
    network: bytes,
    rows: Mapping[str, list[float]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = partial(
        serve,
        redis_url=redis_server.url,
        cache_secret=KEY,
        operations_lease_seconds=LEASE,
        tokens_file=tmp_path / "tokens",
    )
    head = {name: values[:400] for name, values in rows.items()}
    requests = {
        "quick": to_request(None, head, onnxplain.Firm(), target_column="x0", plots=False),
        "long": to_request(network, head, onnxplain.Interactions(), plots=False),
    }
    with onnxplain.local() as client:
        answers = {key: client.messages.explain(each) for key, each in requests.items()}
    monkeypatch.setattr(ServerStates, "rig", Rig(start, tokens, redis_server.admin), raising=False)
    monkeypatch.setattr(ServerStates, "requests", requests, raising=False)
    expected = {key: explanations(each) for key, each in answers.items()}
    monkeypatch.setattr(ServerStates, "answers", expected, raising=False)

    run_state_machine_as_test(
        ServerStates,
        settings=settings(
            max_examples=COUNT,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize="TEST_OPERATION_STATES" not in os.environ,
            suppress_health_check=[*HealthCheck],
        ),
    )
