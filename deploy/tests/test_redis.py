"""The Redis of the chart, started by its own script: the service can do its work, and no more."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from onnxplain_server.adapters.storage.redis_blobs import RedisBlobs
from onnxplain_server.adapters.storage.redis_cache import RedisCache
from onnxplain_server.adapters.storage.redis_connection import RedisConnection
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.request import RequestFile

from tools.ports import free_port

SIGNER = Signer(b"secret of the tests")
PASSWORD = "0123456789abcdef" * 4


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("redis")


@pytest.fixture(scope="module")
def process(
    render, folder: Path, port: int, program: Callable[[str], str]
) -> Iterator[subprocess.Popen[bytes]]:
    """The script of the ConfigMap, with the folders of its container somewhere else."""
    program("redis-server")
    files = render({"redis": {"enabled": True, "existingSecret": "redis", "maxMemory": "64MiB"}})
    for name, text in files.of_kind("ConfigMap", "-redis")["data"].items():
        for place in ("/etc/redis", "/run/redis", "/data"):
            text = text.replace(place, str(folder))  # noqa: PLW2901 # one place after the other
        (folder / name).write_text(text, encoding="utf-8")
    with (folder / "redis.conf").open("a", encoding="utf-8") as configuration:
        configuration.write(f"port {port}\nbind 127.0.0.1\n")
    environment = {**os.environ, "REDIS_PASSWORD": PASSWORD}
    command = ["sh", str(folder / "start.sh")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as running:
        yield running
        running.kill()


@pytest.fixture(scope="module")
def user(process: subprocess.Popen[bytes], port: int) -> Iterator[redis.Redis]:
    """The user of the service, once Redis answers."""
    client = redis.Redis(port=port, username="onnxplain", password=PASSWORD, socket_timeout=120)
    end = time.monotonic() + 120
    while True:
        try:
            client.ping()
            break
        except redis.ConnectionError:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
    yield client
    client.close()


@pytest.fixture
def link(user: redis.Redis, port: int, production) -> Iterator[RedisConnection]:
    """The service's own, by the address that the chart gives it."""
    given = production.environment["ONNXPLAIN_REDIS_URL"]
    address = given.replace("$(REDIS_PASSWORD)", PASSWORD)
    found = RedisConnection(
        address.replace(address.partition("@")[2], f"127.0.0.1:{port}/0"), timeout=120
    )
    yield found
    found.close()


def test_the_service_keeps_and_finds_its_numbers(link: RedisConnection) -> None:
    cache = RedisCache(link, SIGNER, 60)
    cache.put_many({"one": b"1"})
    with cache.single_flight("two", lambda: True) as computes:
        assert computes
    assert list(cache.get_many(["one", "three"])) == [b"1", None]
    assert cache.counts().error_count == 0


def test_the_service_keeps_makes_room_for_and_finds_uploads(link: RedisConnection) -> None:
    blobs = RedisBlobs(link, SIGNER, 3 * 2**20, 60)
    contents = [bytes([i]) * (2**20 + 1) for i in range(4)]
    for content in contents:
        blobs.put(content[:1].hex(), RequestFile("csv", content))
    found = blobs.get("03")
    assert found is not None
    assert found.content == contents[3]
    assert blobs.get("00") is None


@pytest.mark.parametrize(
    "command",
    [
        ("GET", "another"),
        ("SET", "another", "1"),
        ("EVAL", "return redis.call('GET', 'another')", "0"),
        ("FLUSHALL",),
        ("KEYS", "*"),
        ("CONFIG", "GET", "maxmemory"),
        ("ACL", "LIST"),
        ("SHUTDOWN",),
        ("REPLICAOF", "127.0.0.1", "1"),
        ("MODULE", "LIST"),
        ("SAVE",),
        ("PUBLISH", "channel", "1"),
    ],
)
def test_the_service_s_user_may_do_nothing_else(user: redis.Redis, command) -> None:
    with pytest.raises(redis.ResponseError, match=r"permissions|can't access"):
        user.execute_command(*command)


@pytest.mark.parametrize("password", [None, "wrong", PASSWORD])
def test_nobody_else_may_call(user: redis.Redis, port: int, password: str | None) -> None:
    with (
        redis.Redis(port=port, password=password, socket_timeout=120) as stranger,
        pytest.raises(redis.AuthenticationError),
    ):
        stranger.ping()


def test_the_password_can_be_read_nowhere(
    process: subprocess.Popen[bytes], user: redis.Redis, folder: Path
) -> None:
    """Neither in the process nor in a file; whoever reads its users finds a hash."""
    arguments = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    variables = Path(f"/proc/{process.pid}/environ").read_bytes()
    assert b"redis-server" in arguments
    files = [path.read_bytes() for path in folder.iterdir()]
    assert all(PASSWORD.encode() not in text for text in [arguments, variables, *files])
    assert (folder / "users.acl").stat().st_mode & 0o077 == 0


def test_the_probe_asks_as_the_service_s_user(user: redis.Redis, port: int, production) -> None:
    (one,) = production.of_kind("StatefulSet")["spec"]["template"]["spec"]["containers"]
    command = one["readinessProbe"]["exec"]["command"]
    probe = [*command[:-1], command[-1].replace("redis-cli", f"redis-cli -p {port}")]
    for password, works in ((PASSWORD, True), ("wrong", False)):
        environment = {**os.environ, "REDIS_PASSWORD": password}
        result = subprocess.run(probe, env=environment, capture_output=True, check=False)
        assert (result.returncode == 0) is works


def test_it_is_bounded_and_keeps_nothing_on_disk(folder: Path, user: redis.Redis) -> None:
    lines = (folder / "redis.conf").read_text(encoding="utf-8").splitlines()
    assert {"maxmemory 67108864", "maxmemory-policy allkeys-lru", 'save ""'} <= set(lines)
    assert "appendonly no" in lines
    assert {path.name for path in folder.iterdir()} == {"redis.conf", "start.sh", "users.acl"}
