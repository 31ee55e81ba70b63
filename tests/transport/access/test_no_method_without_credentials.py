"""No method and no route answers without good credentials, but health.

What there is to ask is found by walking what the server serves: the services by reflection,
their methods by descriptors, the routes by Flask's map.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import grpc
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pool import Default
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest, ExplainRequest
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.upload_pb2 import UploadModelRequest
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.rest.routes import create_app

HEALTH = "grpc.health.v1.Health"
PROBES = {"/livez", "/healthz", "/readyz", "/ping", "/v2/health/live", "/v2/health/ready"}

PATIENCE = 120.0
Metadata = list[tuple[str, str]]


def bearer(token: str) -> Metadata:
    return [("authorization", f"Bearer {token}")]


def services(channel: grpc.Channel, metadata: Metadata) -> list[str]:
    """Ask a server what it serves."""
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    (reply,) = stub.ServerReflectionInfo(iter([request]), metadata=metadata)
    return [service.name for service in reply.list_services_response.service]


def methods(channel: grpc.Channel, metadata: Metadata) -> list[MethodDescriptor]:
    return [
        method
        for name in services(channel, metadata)
        for method in Default().FindServiceByName(name).methods
    ]


def call(channel: grpc.Channel, method: MethodDescriptor, metadata: Metadata) -> grpc.StatusCode:
    """Call a method with an empty request and return the code that it ends with."""
    kinds = ["unary", "stream"]
    kind = f"{kinds[method.client_streaming]}_{kinds[method.server_streaming]}"
    path = f"/{method.containing_service.full_name}/{method.name}"
    request: Any = iter([b""]) if method.client_streaming else b""
    begun = getattr(channel, kind)(path)
    try:
        if method.server_streaming:
            running = begun(request, metadata=metadata, timeout=PATIENCE)
            # The first event is an answer already; health's Watch never ends.
            next(iter(running), None)
            running.cancel()
        else:
            begun(request, metadata=metadata, timeout=PATIENCE)
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def routes() -> Iterator[tuple[str, str]]:
    """Every method of every rule, and of what is no rule, with the path to ask."""
    rules = create_app(None, Metrics(), 1).url_map.iter_rules()  # type: ignore[arg-type] # not asked
    for rule in rules:
        for method in [*(rule.methods or ()), "DELETE", "TRACE"]:
            yield method, re.sub("<.*?>", "sha256:" + "0" * 64, rule.rule)
    yield from itertools.product(
        ["GET", "POST"], ["/", "/nothing", "/static/a", "/livez/../version"]
    )


def challenge(answer) -> str:
    """Return WWW-Authenticate: names of headers are the same in any case."""
    return str({name.lower(): value for name, value in answer.headers.items()}["www-authenticate"])


def is_open(method: str, path: str) -> bool:
    is_public = path in PROBES or path == "/" or path.startswith("/page/")
    return is_public and method in {"GET", "HEAD", "OPTIONS"}


@pytest.fixture
def client(start, make_runner, tokens, oidc: Mapping[str, str]):
    """A server that knows its callers by tokens of a file, and by JWTs."""
    return start(make_runner(), tokens_file=tokens.write("ann", "bob"), **oidc)


def answers_nothing(client, tokens, authorization: str | None) -> None:
    """Ask all that there is to ask."""
    good = bearer(tokens.of("ann"))
    metadata = [] if authorization is None else [("authorization", authorization)]
    found = methods(client.channel, good)
    assert len({(m.client_streaming, m.server_streaming) for m in found}) == 4
    for method in found:
        health = method.containing_service.full_name == HEALTH
        code = call(client.channel, method, metadata)
        assert (code is grpc.StatusCode.UNAUTHENTICATED) is not health, method.full_name
        assert call(client.channel, method, good) is not grpc.StatusCode.UNAUTHENTICATED
    headers = {} if authorization is None else {"Authorization": authorization}
    for method_name, path in routes():
        answer = client.rest(method_name, path, headers=headers)
        assert (answer.status == 401) is not is_open(method_name, path), (method_name, path)
        if answer.status == 401 and method_name != "HEAD":
            assert answer.json["reason"] == "UNAUTHENTICATED"
            assert challenge(answer).startswith('Bearer realm="onnxplain"')


def test_nothing_but_health_answers_without_credentials(client, tokens) -> None:
    answers_nothing(client, tokens, None)


def test_nothing_but_health_answers_a_token_of_nobody(client, tokens) -> None:
    answers_nothing(client, tokens, "Bearer carl")


def unsigned(provider) -> str:
    head, body, _ = provider.token().split(".")
    head = (
        base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT","kid":"first"}').rstrip(b"=").decode()
    )
    return f"{head}.{body}."


def signed_with_the_public_key(provider) -> str:
    """The old confusion: a public key taken for a shared secret. PyJWT refuses to make it."""
    public = (
        provider.keys["first"]
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    body = provider.token().split(".")[1]
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"first"}').rstrip(b"=").decode()
    mac = hmac.new(public, f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def of_an_unknown_key(provider) -> str:
    provider.add("unknown")
    token: str = provider.token("unknown")
    del provider.keys["unknown"]
    return token


def of_a_forged_key(provider) -> str:
    stranger = rsa.generate_private_key(65537, 2048)
    claims = jwt.decode(provider.token(), options={"verify_signature": False})
    return jwt.encode(claims, stranger, "RS256", headers={"kid": "first"})


def changed(provider) -> str:
    head, body, signature = provider.token().split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    text = json.dumps(claims | {"sub": "root"}).encode()
    return f"{head}.{base64.urlsafe_b64encode(text).rstrip(b'=').decode()}.{signature}"


REFUSED: dict[str, Callable[[Any], str]] = {
    "padded": lambda p: p.token() + "==",
    "an ID token by its claims": lambda p: p.token(at_hash="hash"),
    "an ID token by its type": lambda p: p.token(typ="ID"),
    "of another type": lambda p: p.token(headers={"typ": "logout+jwt"}),
    "expired": lambda p: p.token(exp=int(time.time()) - 60),
    "not valid yet": lambda p: p.token(nbf=int(time.time()) + 600),
    "for another audience": lambda p: p.token(aud="another"),
    "for other audiences": lambda p: p.token(aud=["another", "onnxplain2"]),
    "from another issuer": lambda p: p.token(iss="https://another.example"),
    "without expiry": lambda p: p.token(exp=None),
    "without audience": lambda p: p.token(aud=None),
    "without issuer": lambda p: p.token(iss=None),
    "without caller": lambda p: p.token(sub=None),
    "for a caller with a line end": lambda p: p.token(sub="a\nb"),
    "for half a character": lambda p: p.token(sub="\ud800"),
    "for an endless caller": lambda p: p.token(sub="a" * 257),
    "for an empty caller": lambda p: p.token(sub=""),
    "alg none": unsigned,
    "HS256 by the public key": signed_with_the_public_key,
    "of another algorithm": lambda p: p.token(algorithm="RS512"),
    "of an unknown key": of_an_unknown_key,
    "of a forged key": of_a_forged_key,
    "changed": changed,
}


@pytest.mark.parametrize("kind", ["expired", "of a forged key"])
def test_a_bad_jwt_is_refused_by_every_method(client, tokens, provider, kind: str) -> None:
    answers_nothing(client, tokens, f"Bearer {REFUSED[kind](provider)}")


def is_refused(client, authorization: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        client.stub.Explain(ExplainRequest(), metadata=[("authorization", authorization)])
    answer = client.post({}, Authorization=authorization)

    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED, authorization
    assert answer.status == 401, authorization


def test_every_bad_jwt_is_refused(client, provider) -> None:
    """By one method: the others were asked above."""
    for kind, make in REFUSED.items():
        assert make(provider).count(".") == 2, kind
        is_refused(client, f"Bearer {make(provider)}")


def test_what_is_no_bearer_token_is_refused(client) -> None:
    for given in ("Basic YTpi", "Bearer", "Bearer ", "Bearer a b", "bearer", "nna"):
        is_refused(client, given)
    is_refused(client, "Bearer nna, Bearer nna")


def test_two_tokens_in_one_request_are_refused(client, tokens) -> None:
    twice = bearer(tokens.of("ann")) * 2

    with pytest.raises(grpc.RpcError) as caught:
        client.stub.Explain(ExplainRequest(), metadata=twice)

    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_good_credentials_of_each_kind_are_answered(client, tokens, provider) -> None:
    for token in (tokens.of("ann"), tokens.of("bob"), provider.token()):
        client.stub.Explain(ExplainRequest(), metadata=bearer(token))
        assert client.post({}, Authorization=f"BEARER  {token}").status == 200


def test_access_tokens_alone_are_taken_where_a_setting_asks_for_them(
    start, make_runner, oidc, provider
) -> None:
    """RFC 9068: their type, in either of its forms."""
    asked = start(make_runner(), **(oidc | {"oidc_token_type": "at+jwt"}))

    for told, status in (("at+jwt", 200), ("application/AT+JWT", 200), ("JWT", 401), (None, 401)):
        token = provider.token(headers={"typ": told})
        assert asked.post({}, Authorization=f"Bearer {token}").status == status, told


def test_anothers_upload_is_as_if_it_had_never_been(client, tokens, provider) -> None:
    callers = [tokens.of("ann"), tokens.of("bob"), provider.token(), provider.token(sub="ann")]
    parts = [UploadModelRequest(content=b"\x3a\x04\x0a\x00\x62\x00")]
    uploaded = client.stub.UploadModel(iter(parts), metadata=bearer(callers[0])).id
    never = "sha256:" + "0" * 64

    def told(model: str, token: str) -> tuple[Any, ...]:
        request = DescribeModelRequest(model=Model(id=model))
        with pytest.raises(grpc.RpcError) as caught:
            client.stub.DescribeModel(request, metadata=bearer(token))
        answer = client.rest(
            "GET", f"/v1/models/{model}", headers={"Authorization": f"Bearer {token}"}
        )
        packed = rpc_status.from_call(caught.value)
        return (
            packed.code,
            packed.message.replace(model, "ID"),
            len(packed.details),
            answer.status,
            answer.json["reason"],
            answer.json["detail"].replace(model, "ID"),
            sorted(answer.json),
        )

    for other in callers[1:]:
        assert told(uploaded, other) == told(never, other)
        assert told(uploaded, other)[4] == "BLOB_NOT_FOUND"
    own = DescribeModelRequest(model=Model(id=uploaded))
    assert client.stub.DescribeModel(own, metadata=bearer(callers[0]))


def test_a_missing_token_is_no_error_and_a_bad_one_is(client, provider) -> None:
    missing = challenge(client.post({}))
    expired = challenge(client.post({}, Authorization=f"Bearer {provider.token(exp=1)}"))

    assert missing == 'Bearer realm="onnxplain"'
    assert 'error="invalid_token"' in expired
    assert 'error_description="the token has expired' in expired


def test_without_any_way_everybody_is_answered(start, make_runner) -> None:
    client = start(make_runner())

    client.stub.Explain(ExplainRequest(), metadata=bearer("whatever"))

    assert client.post({}).status == client.rest("GET", "/version").status == 200
