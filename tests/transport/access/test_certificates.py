"""TLS and client certificates on gRPC."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from grpc_health.v1 import health_pb2, health_pb2_grpc
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub
from onnxplain_server.adapters.access.certificates import certificate_caller

WORKLOAD = "spiffe://bank.example/ns/risk/sa/ann"


@pytest.fixture
def connect() -> Iterator[Callable[..., grpc.Channel]]:
    """Open a channel by TLS: to a server, trusting a root, with a key and its certificate."""
    channels: list[grpc.Channel] = []

    def open_(client, root: bytes, pair: tuple[bytes, bytes] | None = None) -> grpc.Channel:
        credentials = grpc.ssl_channel_credentials(root, *(pair or (None, None)))
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
        address = f"localhost:{client.server.grpc_port}"
        channels.append(grpc.secure_channel(address, credentials, options))
        return channels[-1]

    yield open_
    for channel in channels:
        channel.close()


def code_of(channel: grpc.Channel, token: str | None = None) -> grpc.StatusCode:
    metadata = [("authorization", f"Bearer {token}")] if token else []
    try:
        ExplanationServiceStub(channel).Explain(ExplainRequest(), metadata=metadata, timeout=120)
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


@pytest.fixture
def mutual(start, make_runner, authority):
    """A server that knows its callers by certificates, and in no other way."""
    return start(make_runner(), **authority.serve(), tls_client_ca_file=authority.file)


def test_a_certificate_of_the_authority_is_enough(mutual, authority, connect) -> None:
    assert code_of(connect(mutual, authority.pem, authority.issue("ann"))) is grpc.StatusCode.OK


def test_nobody_gets_in_without_a_certificate_of_the_authority(
    mutual, authority, make_authority, connect
) -> None:
    strange = make_authority("stranger").issue("ann")

    assert code_of(connect(mutual, authority.pem)) is grpc.StatusCode.UNAVAILABLE
    assert code_of(connect(mutual, authority.pem, strange)) is grpc.StatusCode.UNAVAILABLE
    assert code_of(mutual.channel) is grpc.StatusCode.UNAVAILABLE


def test_a_certificate_that_names_nobody_is_refused(mutual, authority, connect) -> None:
    nobody = connect(mutual, authority.pem, authority.issue(None))
    two = [x509.UniformResourceIdentifier(WORKLOAD + end) for end in ("", "2")]

    assert code_of(nobody) is grpc.StatusCode.UNAUTHENTICATED
    both = connect(mutual, authority.pem, authority.issue("ann", *two))
    assert code_of(both) is grpc.StatusCode.UNAUTHENTICATED
    assert health_pb2_grpc.HealthStub(nobody).Check(health_pb2.HealthCheckRequest()).status == 1


def test_rest_is_no_side_door_where_only_certificates_are_known(mutual) -> None:
    answer = mutual.post({}, Authorization="Bearer ann")

    assert (answer.status, answer.json["reason"]) == (401, "UNAUTHENTICATED")
    assert "certificate" in answer.json["detail"]
    assert mutual.rest("GET", "/version").status == 401
    assert mutual.rest("GET", "/readyz").status == 200


def test_a_token_wins_over_a_certificate_and_a_bad_one_is_refused(
    start, make_runner, authority, connect, tokens, caplog
) -> None:
    caplog.set_level("INFO", "onnxplain_server.requests")
    client = start(
        make_runner(),
        **authority.serve(),
        tls_client_ca_file=authority.file,
        tokens_file=tokens.write("bob"),
    )
    channel = connect(client, authority.pem, authority.issue("ann"))

    assert code_of(channel) is grpc.StatusCode.OK
    assert code_of(channel, tokens.of("bob")) is grpc.StatusCode.OK
    assert code_of(channel, "carl") is grpc.StatusCode.UNAUTHENTICATED
    callers = [record.getMessage().split()[-1] for record in caplog.records]
    assert callers == ["mtls:cn:ann", "token:bob", "-"]


def test_a_server_s_certificate_alone_encrypts_and_asks_for_tokens(
    start, make_runner, authority, connect, tokens
) -> None:
    client = start(make_runner(), **authority.serve(), tokens_file=tokens.write("ann"))
    channel = connect(client, authority.pem)

    assert code_of(channel) is grpc.StatusCode.UNAUTHENTICATED
    assert code_of(channel, tokens.of("ann")) is grpc.StatusCode.OK


def test_certificates_change_without_a_restart(
    start,
    make_runner,
    make_authority,
    connect,
    tmp_path: Path,
    monkeypatch,
) -> None:
    """As a volume of Kubernetes changes: its link is swapped, for server and authority at once."""
    monkeypatch.setattr("onnxplain_server.adapters.access.watched_files.LOOK_SECONDS", 0.0)
    old, new = make_authority("old"), make_authority("new")
    for authority in (old, new):
        folder = tmp_path / f"..{authority.file.stem}"
        folder.mkdir()
        authority.serve(folder)
        (folder / "ca.crt").write_bytes(authority.pem)
    (tmp_path / "..data").symlink_to("..old")
    names = {"tls_certificate_file": "tls.crt", "tls_key_file": "tls.key"}
    names |= {"tls_client_ca_file": "ca.crt"}
    for name in names.values():
        (tmp_path / name).symlink_to(f"..data/{name}")
    settings = {setting: tmp_path / name for setting, name in names.items()}
    client = start(make_runner(), **settings)
    before = connect(client, old.pem, old.issue("ann"))
    assert code_of(before) is grpc.StatusCode.OK

    (tmp_path / "..tmp").symlink_to("..new")
    (tmp_path / "..tmp").rename(tmp_path / "..data")

    assert code_of(connect(client, new.pem, new.issue("ann"))) is grpc.StatusCode.OK
    assert code_of(connect(client, old.pem, old.issue("ann"))) is grpc.StatusCode.UNAVAILABLE
    assert code_of(connect(client, new.pem, old.issue("ann"))) is grpc.StatusCode.UNAVAILABLE
    # Who was connected stays so, until the connection is old.
    assert code_of(before) is grpc.StatusCode.OK


@pytest.mark.parametrize(
    ("others", "name"),
    [
        ([x509.UniformResourceIdentifier(WORKLOAD), x509.DNSName("a.b")], f"mtls:{WORKLOAD}"),
        ([x509.UniformResourceIdentifier("https://a.b"), x509.DNSName("a.b")], "mtls:dns:a.b"),
        ([x509.DNSName("first"), x509.DNSName("second")], "mtls:dns:first"),
        ([], "mtls:cn:ann"),
    ],
)
def test_a_holder_is_named_by_spiffe_id_else_dns_else_common_name(
    authority, others, name: str
) -> None:
    assert certificate_caller(authority.issue("ann", *others)[1]) == name


@pytest.mark.parametrize("name", ["spiffe://bank.example/a", "dns:a.b"])
def test_a_common_name_cannot_pass_for_another_kind_of_name(authority, name: str) -> None:
    assert certificate_caller(authority.issue(name)[1]) == f"mtls:cn:{name}"


def test_a_name_with_control_characters_is_none(authority) -> None:
    assert certificate_caller(authority.issue("a\nb")[1]) is None
    assert certificate_caller(b"no certificate") is None


def test_a_certificate_of_an_unknown_version_names_nobody(authority) -> None:
    der = x509.load_pem_x509_certificate(authority.issue("ann")[1]).public_bytes(Encoding.DER)
    version = b"\xa0\x03\x02\x01"
    assert der.count(version + b"\x02") == 1

    changed = der.replace(version + b"\x02", version + b"\x32")

    assert certificate_caller(ssl.DER_cert_to_PEM_cert(changed).encode()) is None
