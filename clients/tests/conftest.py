"""Fixtures: clients, their servers, and the Python client's responses for comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from harness import CASES, PYTHON, Runner, Server, ask, serving
from redis_process import running_redis
from registry import registered

Answers = Callable[[Runner], Mapping[str, Any]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--client",
        action="append",
        choices=sorted(registered()),
        help="ask this client only; may be repeated",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test that wants a `client` all of them, or those that were named."""
    if "client" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--client") or registered()
        runners = [registered()[name] for name in chosen]
        metafunc.parametrize("client", runners, ids=list(chosen), scope="session")


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the checkout."""
    return Path(__file__).parents[2]


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server for all cases."""
    with serving() as running:
        yield running


@pytest.fixture(scope="session")
def redis_url(
    program: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A Redis of its own."""
    with running_redis(program("redis-server"), tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(scope="session")
def keeping(redis_url: str) -> Iterator[Server]:
    """A server that keeps operations."""
    shared = {"redis_url": redis_url, "cache_secret": "0123456789abcdef"}
    with serving(**shared) as running:
        yield running


@pytest.fixture(scope="session")
def answers(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Ask all cases by a client, once."""
    found: dict[str, Mapping[str, Any]] = {}

    def of(runner: Runner) -> Mapping[str, Any]:
        if runner.name not in found:
            folder = tmp_path_factory.mktemp("answers")
            found[runner.name] = ask(runner, server, folder, [*CASES])
        return found[runner.name]

    return of


@pytest.fixture(scope="session")
def pythons(answers: Answers) -> Mapping[str, Any]:
    """Responses of the Python client."""
    return answers(PYTHON)
