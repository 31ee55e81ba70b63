"""Python client and command line against servers with authentication."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import onnxplain
import pytest
from onnxplain_server import cli
from typer.testing import CliRunner, Result

ROWS = {"a": [1.0, 2.0]}
METHOD = onnxplain.Interactions()
SECRET = "secret"  # noqa: S105 - nobody's


@pytest.fixture
def server(start, make_runner, tokens):
    """A server with tokens, and without encryption."""
    return start(make_runner(), tokens_file=tokens.write("ann")).server


@pytest.fixture
def mutual(start, make_runner, authority, tokens):
    """A server with TLS, certificates of clients, and tokens."""
    settings = authority.serve() | {"tls_client_ca_file": authority.file}
    return start(make_runner(), tokens_file=tokens.write("ann"), **settings).server


@pytest.fixture
def pair(authority, tmp_path: Path) -> dict[str, Any]:
    """A client's certificate and key, as arguments."""
    key, certificate = authority.issue("bob")
    files = {"certificate_file": tmp_path / "client.crt", "key_file": tmp_path / "client.key"}
    files["certificate_file"].write_bytes(certificate)
    files["key_file"].write_bytes(key)
    return files


def endpoint_of(server) -> str:
    return f"localhost:{server.grpc_port}"


def use_all(client: onnxplain.Client) -> None:
    """Make every call that there is."""
    client.explain(b"model", ROWS, METHOD)
    client.explain(b"model", ROWS, METHOD, progress=lambda _done, _planned: None)
    list(client.explain_stream(b"model", ROWS, METHOD))
    client.describe(client.upload_model(b"\x3a\x04\x0a\x00\x62\x00"))
    client.upload_table(ROWS)
    assert client.health() == "SERVING"


def test_a_token_goes_with_every_call(server, tokens) -> None:
    with onnxplain.connect(endpoint_of(server), token=tokens.of("ann")) as client:
        use_all(client)


def test_a_token_goes_with_every_call_of_asyncio(server, tokens) -> None:
    async def use() -> str:
        async with onnxplain.connect_async(
            endpoint_of(server), token=lambda: tokens.of("ann")
        ) as client:
            await client.explain(b"model", ROWS, METHOD)
            await client.explain(b"model", ROWS, METHOD, progress=lambda _done, _planned: None)
            assert [event async for event in client.explain_stream(b"model", ROWS, METHOD)]
            await client.describe(await client.upload_model(b"\x3a\x04\x0a\x00\x62\x00"))
            await client.upload_table(ROWS)
            return await client.health()

    assert asyncio.run(use()) == "SERVING"


@pytest.mark.parametrize("token", [None, "wrong"])
def test_a_refusal_has_its_reason_and_is_not_tried_again(server, token: str | None) -> None:
    with (
        onnxplain.connect(endpoint_of(server), token=token) as client,
        pytest.raises(onnxplain.ExplainError) as caught,
    ):
        client.explain(b"model", ROWS, METHOD)

    assert (caught.value.reason, caught.value.code) == ("UNAUTHENTICATED", "UNAUTHENTICATED")


def test_a_callable_is_asked_before_each_call(server, tokens) -> None:
    given = iter(["wrong", tokens.of("ann")])
    with onnxplain.connect(endpoint_of(server), token=lambda: next(given)) as client:
        with pytest.raises(onnxplain.ExplainError):
            client.describe(b"model")
        client.describe(b"model")


@pytest.mark.parametrize(
    "endpoint",
    [
        "explain.example:8081",
        "10.0.0.1:8081",
        "dns:///explain.example",
        "127.0.0.1.example:1",
        "ipv4:127.0.0.1:80,10.0.0.1:80",
        "[2001:db8::1]:80",
        "localhost.example",
        "xds:///a",
        "",
    ],
)
def test_a_token_does_not_leave_the_machine_unencrypted(endpoint: str) -> None:
    with pytest.raises(ValueError, match="unencrypted"):
        onnxplain.connect(endpoint, token=SECRET)

    onnxplain.connect(endpoint, token=SECRET, allow_unencrypted_token=True).close()
    onnxplain.connect(endpoint, token=SECRET, tls=True).close()
    credentials = grpc.ssl_channel_credentials()
    onnxplain.connect(endpoint, token=SECRET, credentials=credentials).close()


@pytest.mark.parametrize(
    "endpoint",
    [
        "localhost",
        "LOCALHOST:8081",
        "127.0.0.1:80",
        "127.9.9.9:80",
        "[::1]:80",
        "unix:/run/socket",
        "dns:///localhost:80",
        "ipv4:127.0.0.1:80,127.0.0.2:80",
        "ipv6:[::1]:80",
        "ipv6:%5B::1%5D:1",
    ],
)
def test_a_token_may_stay_on_the_machine_unencrypted(endpoint: str) -> None:
    onnxplain.connect(endpoint, token=SECRET).close()


@pytest.mark.parametrize("token", ["", "a b", "a\n", "é", "sécret"])
def test_what_is_no_token_is_refused_without_repeating_it(server, token: str) -> None:
    with pytest.raises(ValueError, match="the token") as caught:
        onnxplain.connect("localhost", token=token)
    assert not token or token not in str(caught.value)
    with (
        onnxplain.connect(endpoint_of(server), token=lambda: token) as client,
        pytest.raises(ValueError, match="the token"),
    ):
        client.health()


def test_files_make_a_connection_by_tls(mutual, authority, pair: dict[str, Any], tokens) -> None:
    endpoint = endpoint_of(mutual)
    with onnxplain.connect(endpoint, ca_file=authority.file, **pair) as client:
        use_all(client)
    with onnxplain.connect(
        endpoint, ca_file=str(authority.file), token=tokens.of("ann"), **pair
    ) as client:
        use_all(client)


def test_arguments_that_do_not_fit_are_refused(pair: dict[str, Any]) -> None:
    credentials = grpc.ssl_channel_credentials()
    for given in (
        {"credentials": credentials, "tls": True},
        {"credentials": credentials, "ca_file": pair["key_file"]},
        {"key_file": pair["key_file"]},
        {"certificate_file": pair["certificate_file"]},
    ):
        with pytest.raises(ValueError, match=r"either credentials|needs both"):
            onnxplain.connect("localhost", **given)
    with pytest.raises(FileNotFoundError):
        onnxplain.connect("localhost", ca_file="missing.pem")


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Result]:
    """Run a command that asks a server."""
    (tmp_path / "model.onnx").write_bytes(b"model")

    def invoke(*words: str | Path, **variables: str) -> Result:
        texts = [str(word).replace("MODEL", str(tmp_path / "model.onnx")) for word in words]
        return CliRunner().invoke(cli.app, texts, env=variables, obj=cli.ServiceParts(*[_none] * 3))

    return invoke


def _none(*_given):
    raise AssertionError("nothing is computed in this process")


def test_commands_send_the_token_of_a_file_or_of_the_variable(
    run, server, tokens, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(tokens.of("ann") + "\n")
    describe = ("describe", "MODEL", "--endpoint", endpoint_of(server))

    by_file = run(*describe, "--token-file", file)
    by_variable = run(*describe, ONNXPLAIN_TOKEN=tokens.of("ann"))
    without = run(*describe)

    assert (by_file.exit_code, by_variable.exit_code) == (0, 0)
    assert by_file.stdout == by_variable.stdout
    assert without.exit_code == 1
    assert "(UNAUTHENTICATED)" in without.stderr
    assert without.stderr.count("\n") == 1


def test_commands_speak_tls_with_certificates(run, mutual, authority, pair: dict[str, Any]) -> None:
    flags = ("--endpoint", endpoint_of(mutual), "--ca-file", authority.file)
    own = ("--certificate-file", pair["certificate_file"], "--key-file", pair["key_file"])

    assert run("health", *flags, *own, "--timeout", "120").stdout == "SERVING\n"
    assert run("describe", "MODEL", *flags, *own).exit_code == 0
    assert run("health", *flags, "--timeout", "5").exit_code == 1


@pytest.mark.parametrize(
    ("flags", "fault"),
    [
        (("--endpoint", "a.example:1"), "unencrypted"),
        (("--endpoint", "localhost:1", "--key-file", "missing"), "both"),
        (("--endpoint", "localhost:1", "--ca-file", "missing"), "cannot read missing"),
        (("--tls",), "--tls: needs --endpoint"),
        (("--token-file", "missing"), "--token-file: needs --endpoint"),
    ],
)
def test_flags_that_do_not_fit_are_refused(run, flags: tuple[str, ...], fault: str) -> None:
    result = run("describe", "MODEL", *flags, ONNXPLAIN_TOKEN=SECRET)

    assert result.exit_code in {1, 2}
    assert fault in result.stderr
    assert SECRET not in result.stderr


def test_a_new_token_and_its_line_let_its_caller_in(
    run, start, make_runner, tmp_path: Path
) -> None:
    made = run("token", "ann/batch")
    token, line = made.stdout.splitlines()
    file = tmp_path / "tokens"
    file.write_text(f"{line}\n")
    server = start(make_runner(), tokens_file=file).server

    with onnxplain.connect(endpoint_of(server), token=token) as client:
        client.describe(b"model")

    assert token not in line
    assert line.startswith("ann/batch ")
    assert run("token", "no name").exit_code == 2
