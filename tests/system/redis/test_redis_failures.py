"""Failures of a real Redis: what the caller gets, the log tells and the metrics count, as a table.

The table is that of docs/operations.md.
"""

from __future__ import annotations

import datetime
import ipaddress
import logging
import signal
import socketserver
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
import redis
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from onnxplain_server.adapters.storage.circuit_breaker import CircuitBreaker
from onnxplain_server.adapters.storage.operations.redis_operations import RedisOperations
from onnxplain_server.adapters.storage.redis_cache import RedisCache
from onnxplain_server.adapters.storage.redis_connection import RedisConnection
from onnxplain_server.adapters.storage.redis_failures import FailureKind, RedisFailure
from onnxplain_server.adapters.storage.redis_health import RedisHealth
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.operations import NewOperation, OperationState
from onnxplain_server.transport.metrics.redis_metrics import RedisCollector
from onnxplain_server.transport.operations.reachable import reachable
from onnxplain_server.transport.status import retry_seconds

from tools.ports import free_port

SECRET = b"0123456789abcdef"
DOCS = Path(__file__).parents[3] / "docs" / "operations.md"
PATIENCE = 60.0
SHORT = 0.5

Commands = Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Row:
    """A failure: how it is brought about, and what it comes to."""

    failure: str
    kind: FailureKind
    answer: str
    url: str = "redis://127.0.0.1:{port}/0"
    before: Commands = ()
    after: Commands = ()
    reply: bytes = b""
    action: str = "start"
    timeout: float = PATIENCE


AGAIN, NEVER, QUOTA = "UNAVAILABLE, retry", "INTERNAL, no retry", "QUOTA_EXCEEDED, no retry"
FULL: Commands = (("CONFIG", "SET", "maxmemory", "1mb"),)
ROOM: Commands = (("CONFIG", "SET", "maxmemory", "0"),)
PRIMARY: Commands = (
    ("REPLICAOF", "NO", "ONE"),
    ("CONFIG", "SET", "replica-serve-stale-data", "yes"),
)
REPLICA: Commands = (("REPLICAOF", "127.0.0.1", "1"),)
STALE: Commands = (*REPLICA, ("CONFIG", "SET", "replica-serve-stale-data", "no"))
FEW_COPIES: Commands = (("CONFIG", "SET", "min-replicas-to-write", "1"),)
MANY_COPIES: Commands = (("CONFIG", "SET", "min-replicas-to-write", "0"),)
USER = ("ACL", "SETUSER", "ada", "reset", "on", ">pass")

TABLE = [
    Row(
        "absent: no process, or another port",
        FailureKind.UNREACHABLE,
        AGAIN,
        "redis://127.0.0.1:{free}/0",
    ),
    Row(
        "frozen, or too slow",
        FailureKind.TIMEOUT,
        AGAIN,
        before=[("SIGSTOP",)],
        after=[("SIGCONT",)],
        timeout=SHORT,
    ),
    Row(
        "too many connections",
        FailureKind.UNREACHABLE,
        AGAIN,
        reply=b"-ERR max number of clients reached\r\n",
    ),
    Row("full at a start", FailureKind.FULL, QUOTA, before=FULL, after=ROOM),
    Row("full at an end", FailureKind.FULL, QUOTA, before=FULL, after=ROOM, action="finish"),
    Row(
        "full, for the cache",
        FailureKind.FULL,
        "the answer",
        before=FULL,
        after=ROOM,
        action="cache",
    ),
    Row(
        "loading after a restart",
        FailureKind.FAILOVER,
        AGAIN,
        reply=b"-LOADING Redis is loading the dataset in memory\r\n",
    ),
    Row("a replica without its primary", FailureKind.FAILOVER, AGAIN, before=STALE, after=PRIMARY),
    Row("too few replicas", FailureKind.FAILOVER, AGAIN, before=FEW_COPIES, after=MANY_COPIES),
    Row("a read-only replica", FailureKind.READ_ONLY, AGAIN, before=REPLICA, after=PRIMARY),
    Row("a name that is not known", FailureKind.ADDRESS, NEVER, "redis://redis.invalid:6379/0"),
    Row(
        "wrong user or password",
        FailureKind.LOGIN,
        NEVER,
        "redis://ada:wrong@127.0.0.1:{port}/0",
        before=[USER],
    ),
    Row(
        "a password is missing",
        FailureKind.LOGIN,
        NEVER,
        before=[("CONFIG", "SET", "requirepass", "x")],
        after=[("CONFIG", "SET", "requirepass", "")],
    ),
    Row(
        "no permission for a key",
        FailureKind.PERMISSION,
        NEVER,
        "redis://ada:pass@127.0.0.1:{port}/0",
        before=[(*USER, "~other:*", "+@all")],
    ),
    Row(
        "no permission for a command",
        FailureKind.PERMISSION,
        NEVER,
        "redis://ada:pass@127.0.0.1:{port}/0",
        before=[(*USER, "~*", "+get", "+select")],
    ),
    Row("wrong database", FailureKind.DATABASE, NEVER, "redis://127.0.0.1:{port}/99"),
    Row(
        "an authority that is not trusted",
        FailureKind.CERTIFICATE,
        NEVER,
        "rediss://127.0.0.1:{tls}/0",
    ),
    Row(
        "a certificate for another host",
        FailureKind.CERTIFICATE,
        NEVER,
        "rediss://localhost:{tls}/0?ssl_ca_certs={folder}/cert.pem",
    ),
    Row(
        "the file of the authority is missing",
        FailureKind.CERTIFICATE,
        NEVER,
        "rediss://127.0.0.1:{tls}/0?ssl_ca_certs={folder}/none.pem",
    ),
    Row("`redis://`, and it wants TLS", FailureKind.TLS, NEVER, "redis://127.0.0.1:{tls}/0"),
    Row(
        "`rediss://`, and it has no TLS",
        FailureKind.TLS,
        NEVER,
        "rediss://127.0.0.1:{port}/0",
        timeout=SHORT,
    ),
    Row(
        "a node of a Redis Cluster",
        FailureKind.CLUSTER,
        NEVER,
        reply=b"-MOVED 3999 127.0.0.1:6381\r\n",
    ),
    Row(
        "a full disk",
        FailureKind.DISK,
        NEVER,
        reply=b"-MISCONF Redis is configured to save, but it's currently unable to persist\r\n",
    ),
    Row(
        "a command that it does not have",
        FailureKind.REFUSED,
        NEVER,
        reply=b"-ERR unknown command 'EVALSHA'\r\n",
    ),
]


class Answerer(socketserver.BaseRequestHandler):
    """Gives one reply to whatever it is asked."""

    def handle(self) -> None:
        with suppress(OSError):  # of a client that has left
            while self.request.recv(4096):
                self.request.sendall(self.server.reply)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def places(redis_binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A Redis with a port for TLS, by a private authority, and one that only tells errors."""
    folder = tmp_path_factory.mktemp("redis")
    write_certificate(folder)
    ports = {name: free_port() for name in ("port", "tls", "free")}
    tls = {"port": ports["tls"], "cert-file": folder / "cert.pem", "key-file": folder / "key.pem",
           "ca-cert-file": folder / "cert.pem", "auth-clients": "no"}  # fmt: skip
    options = {"port": ports["port"], "dir": folder, "save": "", "appendonly": "no",
               **{f"tls-{name}": value for name, value in tls.items()}}  # fmt: skip
    flags = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    with (
        subprocess.Popen([redis_binary, *flags], stdout=subprocess.DEVNULL) as process,
        socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answerer) as errors,
        redis.Redis(port=ports["port"]) as admin,
    ):
        errors.daemon_threads = True
        thread = threading.Thread(target=errors.serve_forever, args=(0.01,))
        thread.start()
        while not answers(admin):
            assert process.poll() is None
        yield {**ports, "folder": folder, "process": process, "admin": admin, "errors": errors}
        errors.shutdown()
        thread.join()
        process.kill()


def answers(admin: redis.Redis) -> bool:
    try:
        return bool(admin.ping())
    except redis.ConnectionError:
        return False


def write_certificate(folder: Path) -> None:
    """Write a certificate for 127.0.0.1 that is its own authority."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "private")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def run(places: dict[str, Any], commands: Commands) -> None:
    """Reconfigure the Redis."""
    for command in commands:
        if command[0].startswith("SIG"):
            places["process"].send_signal(getattr(signal, command[0]))
        else:
            places["admin"].execute_command(*command)


@pytest.fixture
def broken(places: dict[str, Any], request: pytest.FixtureRequest) -> Iterator[SimpleNamespace]:
    """The parts of a server whose Redis has a failure, from a moment on."""
    row: Row = request.param
    url = row.url.format_map(places)
    if row.reply:
        places["errors"].reply = row.reply
        url = f"redis://127.0.0.1:{places['errors'].server_address[1]}/0"
    health = RedisHealth(url)
    connection = RedisConnection(url, CircuitBreaker(0), row.timeout, health)
    operations = RedisOperations(connection, SECRET)
    claim = None
    if row.action == "finish":
        operations.start("ada", NewOperation(b"request"))
        claim = operations.claim("c")
    run(places, row.before)
    yield SimpleNamespace(
        row=row,
        health=health,
        operations=operations,
        cache=RedisCache(connection, Signer(SECRET), 60),
        claim=claim,
    )
    run(places, row.after)
    run(places, [("FLUSHALL",)])
    connection.close()


def attempt(broken: SimpleNamespace) -> str:
    """What a caller gets, as its reason and whether a retry is promised."""
    try:
        with reachable():
            if broken.row.action == "cache":
                broken.cache.put_many({"name": b"value"})
                return "the answer"
            if broken.row.action == "finish":
                broken.operations.finish(broken.claim, OperationState.SUCCEEDED, response=b"r" * 9)
            else:
                broken.operations.start("ada", NewOperation(b"request"))
    except ExplainError as error:
        return told(error)
    raise AssertionError("nothing failed")


def told(error: ExplainError) -> str:
    """Reason and promise of an error, whose words agree with them."""
    is_promised, is_quota = retry_seconds(error) is not None, "QUOTA" in error.reason.name
    assert ("bytes" in error.message) == is_quota
    assert is_promised == ("again later" in error.message) or is_quota
    return f"{error.reason.name}, {'retry' if is_promised else 'no retry'}"


@pytest.mark.parametrize("broken", TABLE, ids=lambda row: row.failure, indirect=True)
def test_each_failure_of_redis_says_what_it_is(
    broken: SimpleNamespace, caplog: pytest.LogCaptureFixture, soon: Callable[..., bool]
) -> None:
    row, name = broken.row, broken.row.kind.value.name
    caplog.set_level(logging.WARNING)

    def is_found() -> bool:
        return bool(attempt(broken) == row.answer and broken.health.counts().failures[name])

    # Whether the other side speaks TLS is found out beside the first attempts.
    assert soon(is_found) if row.kind is FailureKind.TLS else is_found()

    level, advice = level_and_advice(row)
    lines = [each for each in caplog.records if advice in each.getMessage()]
    assert [each.levelname for each in lines[:1]] == [level]
    line = lines[0].getMessage()
    assert " as user " in line
    assert "127.0.0.1" in line or "localhost" in line or "redis.invalid" in line
    assert not any(secret in caplog.text for secret in (":pass", ":wrong"))
    up, failures = RedisCollector(broken.health.counts).collect()
    assert [sample.value for sample in up.samples] == [int(row.kind.value.is_up)]
    assert {each.labels["kind"] for each in failures.samples if each.value} >= {name}
    assert documented(row) in DOCS.read_text(encoding="utf-8")


def level_and_advice(row: Row) -> tuple[str, str]:
    traits = row.kind.value
    return "WARNING" if traits.is_temporary else "ERROR", traits.advice


def documented(row: Row) -> str:
    """The line of the table in the documents."""
    level, advice = level_and_advice(row)
    advice = advice.replace("onnxplain:*", "`onnxplain:*`")
    cells = row.failure, row.answer, f"{level}: {advice}", str(int(row.kind.value.is_up))
    return f"| {' | '.join(cells)} | `{row.kind.value.name}` |\n"


def test_the_table_has_each_kind() -> None:
    assert {row.kind for row in TABLE} == {*FailureKind} - {FailureKind.DAMAGED}


def test_a_failure_is_logged_once_a_minute_and_counted_each_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [0.0]
    health = RedisHealth("rediss://ada:secret@host/2", lambda: now[0])
    for seconds in (0, 59, 61):
        now[0] = seconds
        health.fail(RedisFailure(FailureKind.FULL, "OOM"))

    place = "rediss://host:6379/2 as user ada"
    line = f"Redis fails, {place}: {FailureKind.FULL.value.advice} (OOM)"
    assert [record.getMessage() for record in caplog.records] == [line, line]
    assert health.counts().failures["full"] == 3


def test_a_server_with_a_wrong_password_is_ready_and_says_what_is_wrong(
    serve: Callable[..., Any], places: dict[str, Any]
) -> None:
    run(places, [USER])
    url = f"redis://ada:wrong@127.0.0.1:{places['port']}/0"
    server = serve(redis_url=url, cache_secret="x" * 32, isolation="none")
    server.wait_for_log("ERROR")
    line = next(line for line in server.log if "ERROR" in line)
    assert f"127.0.0.1:{places['port']}/0 as user ada: it refuses this user" in line
    assert "wrong" not in line
    with urlopen(f"http://127.0.0.1:{server.rest_port}/readyz") as reply:
        assert reply.status == 200
    with urlopen(f"http://127.0.0.1:{server.metrics_port}/metrics") as reply:
        assert "\nonnxplain_redis_up 0.0\n" in reply.read().decode()
    with pytest.raises(HTTPError) as caught:
        urlopen(f"http://127.0.0.1:{server.rest_port}/v1/operations")
    with caught.value as refusal:
        assert (refusal.code, refusal.headers["Retry-After"]) == (500, None)
