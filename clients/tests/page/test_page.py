"""Journeys through the page of a real server, in Chromium."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import page_files
import page_large_files
import pytest
import wide_files
from harness import Server, serving
from page_journeys import walk
from redis_process import running_redis

from tools.missing_programs import DEMAND
from tools.ports import free_port
from tools.waiting import until

WIDTH = 50
"""Features of the report that has to be small."""

BELOW_MODELS = r"""
    http-request deny deny_status 404 unless { path_beg /models/ }
    http-request replace-path /models/(.*) /\1
"""
"""Rules of a proxy that publishes a server below a path, and nothing else."""

CLIENT = "the-page"
"""What the provider calls the page."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    page_files.write(folder)
    wide_files.write(folder, WIDTH)
    page_large_files.write_neighbours(folder)
    return folder


@pytest.fixture(scope="module")
def token() -> tuple[str, str]:
    """A token, and its line for the server."""
    command = [sys.executable, "-m", "onnxplain_server", "token", "reader"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return made[0], made[1]


@pytest.fixture
def keeping(program: Callable[[str], str], tmp_path: Path) -> Iterator[Server]:
    """A server that keeps operations, and asks nobody for a token."""
    with (
        running_redis(program("redis-server"), tmp_path) as url,
        serving(redis_url=url, cache_secret="s" * 32) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def guarded(
    token: tuple[str, str],
    program: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    """A server that asks for a token, and keeps operations."""
    folder = tmp_path_factory.mktemp("guarded")
    tokens = folder / "tokens"
    tokens.write_text(f"{token[1]}\n")
    with (
        running_redis(program("redis-server"), folder) as url,
        serving(redis_url=url, cache_secret="s" * 32, tokens_file=tokens) as running,
    ):
        yield running


@contextmanager
def logging_in(root: Path, *tokens: str, **settings: object) -> Iterator[Server]:
    """A server whose tokens are those of an OpenID provider, oidc-provider."""
    node = root / ".venv-proto" / "bin" / "node"
    if not (root / "tools" / "node_modules" / ".made").exists():
        (pytest.fail if os.environ.get(DEMAND) else pytest.skip)("make tools/node_modules/.made")
    port = free_port()
    # The provider leads back to the page, whose address it knows before.
    script = root / "tools" / "openid" / "provider.mjs"
    command = [str(node), str(script), f"http://127.0.0.1:{port}/", CLIENT, *tokens]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as provider:
        assert provider.stdout is not None
        try:
            with serving(
                rest_port=port,
                oidc_issuer=provider.stdout.readline().strip(),
                oidc_audience="onnxplain",
                oidc_client_id=CLIENT,
                oidc_scopes="openid explain",
                **settings,
            ) as running:
                yield running
        finally:
            provider.kill()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def balancing(
    root: Path, binary: str, folder: Path, replicas: Sequence[Server], rules: str = ""
) -> Iterator[Server]:
    """A balancer before replicas, as `deploy/haproxy.cfg` has it, with rules and without gRPC."""
    port = free_port()
    text = (root / "deploy" / "haproxy.cfg").read_text()
    text = re.sub(r"frontend grpc.*(?=frontend rest)", "", text, flags=re.DOTALL)
    text = text.replace("bind :8080", f"bind 127.0.0.1:{port}\n{rules}")
    for number, replica in enumerate(replicas):
        text = text.replace(f"replica-{number + 1}:8080", f"127.0.0.1:{replica.rest_port}")
    file = folder / "haproxy.cfg"
    file.write_text(text)
    with subprocess.Popen([binary, "-db", "-f", file], stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: process.poll() is not None or listens(port))
            assert process.poll() is None, "haproxy has ended"
            yield Server(0, port, 0)
        finally:
            process.kill()


def test_people_explain_their_models(root: Path, server: Server, files: Path) -> None:
    walk(root, "explaining", server, files)


def test_people_compare_models_and_tables(root: Path, server: Server, files: Path) -> None:
    walk(root, "comparing", server, files)


def test_people_are_told_what_is_wrong(root: Path, server: Server, files: Path) -> None:
    walk(root, "refusals", server, files)


def test_nothing_of_hostile_files_runs(root: Path, server: Server, files: Path) -> None:
    walk(root, "hostile", server, files)


def test_the_keyboard_is_enough(root: Path, server: Server, files: Path) -> None:
    walk(root, "keyboard", server, files)


def test_the_page_fits_screens(root: Path, server: Server, files: Path) -> None:
    walk(root, "looks", server, files)


def test_a_report_is_small_and_prints_uncut(
    root: Path, server: Server, files: Path, program: Callable[[str], str]
) -> None:
    program("pdftotext")
    walk(root, "report", server, files)


def test_a_token_opens_and_operations_are_found_again(
    root: Path, guarded: Server, files: Path, token: tuple[str, str]
) -> None:
    walk(root, "access", guarded, files, ONNXPLAIN_TOKEN=token[0])


def test_a_slow_model_is_explained_without_its_page(
    root: Path, keeping: Server, files: Path
) -> None:
    walk(root, "leaving", keeping, files)


def test_a_login_at_a_provider_gives_the_page_its_token(root: Path, files: Path) -> None:
    with logging_in(root) as server:
        walk(root, "login", server, files)


@pytest.mark.parametrize(
    ("journey", "tokens"), [("renewal", ("20", "refresh")), ("relogin", ("20",))]
)
def test_tokens_of_20_s_last_through_an_explanation(
    root: Path,
    program: Callable[[str], str],
    tmp_path: Path,
    files: Path,
    journey: str,
    tokens: tuple[str, ...],
) -> None:
    with (
        running_redis(program("redis-server"), tmp_path) as url,
        logging_in(root, *tokens, redis_url=url, cache_secret="s" * 32) as server,
    ):
        walk(root, journey, server, files)


def test_files_are_dropped_and_an_explanation_is_cancelled(
    root: Path, keeping: Server, files: Path
) -> None:
    walk(root, "stopping", keeping, files)


def test_a_replica_that_is_killed_costs_the_reader_nothing(
    root: Path, program: Callable[[str], str], tmp_path: Path, files: Path
) -> None:
    with running_redis(program("redis-server"), tmp_path) as url:
        shared = {"redis_url": url, "cache_secret": "s" * 32, "operations_lease_seconds": 2}
        with (
            serving(**shared) as one,
            serving(**shared) as two,
            balancing(root, program("haproxy"), tmp_path, (one, two)) as balanced,
        ):
            known = json.dumps([(each.process_id, each.metrics_port) for each in (one, two)])
            walk(root, "replicas", balanced, files, ONNXPLAIN_REPLICAS=known)


def test_wide_and_tall_tables_are_explained(root: Path, server: Server, files: Path) -> None:
    page_large_files.write_wide_and_tall(files)
    walk(root, "large", server, files)


def test_what_is_planned_is_told_while_it_is_computed(
    root: Path, keeping: Server, files: Path
) -> None:
    walk(root, "planned", keeping, files)


def test_the_page_works_below_a_path(
    root: Path, keeping: Server, program: Callable[[str], str], tmp_path: Path, files: Path
) -> None:
    with balancing(root, program("haproxy"), tmp_path, (keeping, keeping), BELOW_MODELS) as proxy:
        below = f"http://127.0.0.1:{proxy.rest_port}/models"
        walk(root, "leaving", proxy, files, ONNXPLAIN_URL=below)
