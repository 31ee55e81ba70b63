"""Authenticated callers: tokens in files, an OpenID provider on a thread, certificates."""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

AUDIENCE = "onnxplain"
PATIENCE = 300.0


class Tokens:
    """A file of tokens; each caller's token is its name, turned around."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, *names: str) -> Path:
        lines = (f"{name} {hashlib.sha256(name[::-1].encode()).hexdigest()}\n" for name in names)
        self.path.write_text("# callers\n\n" + "".join(lines))
        return self.path

    @staticmethod
    def of(name: str) -> str:
        return name[::-1]


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "tokens")


@dataclass
class Provider:
    """An OpenID provider that answers as a test says, and counts what it is asked."""

    url: str
    keys: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    before: Callable[[str], None] = lambda _path: None
    status: int = 200
    issuer: str = ""

    def add(self, name: str, key=None):
        """Publish the public half of a key."""
        self.keys[name] = key or rsa.generate_private_key(65537, 2048)
        return self.keys[name]

    def documents(self) -> dict[str, Any]:
        return {
            "/.well-known/openid-configuration": {
                "issuer": self.issuer or self.url,
                "jwks_uri": f"{self.url}/keys",
            },
            "/keys": {"keys": [self._public(name, key) for name, key in self.keys.items()]},
        }

    def token(self, name: str = "first", algorithm: str = "RS256", headers=None, **claims) -> str:
        """Sign a good token; a claim given as None is left out."""
        now = int(time.time())
        good = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "alice",
            "exp": now + 3_600,
            "iat": now,
        }
        given = {claim: value for claim, value in (good | claims).items() if value is not None}
        return jwt.encode(
            given, self.keys[name], algorithm, headers={"kid": name, **(headers or {})}
        )

    @staticmethod
    def _public(name: str, key) -> dict[str, Any]:
        kinds = jwt.algorithms
        kind: Any = kinds.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else kinds.ECAlgorithm
        return {**kind.to_jwk(key.public_key(), as_dict=True), "kid": name, "use": "sig"}


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """A provider with one key, "first", for which servers wait for as long as it takes."""
    monkeypatch.setattr("onnxplain_server.adapters.access.jwks_client._TIMEOUT_SECONDS", PATIENCE)
    for name in ("_WAIT_SECONDS", "_UNKNOWN_KEY_SECONDS", "_LOST_SECONDS"):
        monkeypatch.setattr(f"onnxplain_server.adapters.access.jwks_cache.{name}", PATIENCE)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            found.before(self.path)
            body = json.dumps(found.documents().get(self.path)).encode()
            self.send_response(found.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_given) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        found = Provider(f"http://127.0.0.1:{server.server_port}")
        found.add("first")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield found
        server.shutdown()
        thread.join()


@pytest.fixture
def oidc(provider: Provider) -> dict[str, str]:
    """Settings that trust the provider."""
    return {"oidc_issuer": provider.url, "oidc_audience": AUDIENCE}


class Authority:
    """Signs certificates."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = self._sign(self.name, self.key.public_key(), [], ca=True)
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(self.pem)

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, name: str | None, *others: x509.GeneralName) -> tuple[bytes, bytes]:
        """Return a new key and its certificate, as PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [] if name is None else [x509.NameAttribute(NameOID.COMMON_NAME, name)]
        certificate = self._sign(x509.Name(names), key.public_key(), others, ca=False)
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return secret, certificate.public_bytes(serialization.Encoding.PEM)

    def serve(self, folder: Path | None = None) -> dict[str, Path]:
        """Write a server's certificate; return the settings that name it."""
        folder = folder or self.folder
        key, certificate = self.issue(
            "server",
            x509.DNSName("localhost"),
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        )
        (folder / "tls.key").write_bytes(key)
        (folder / "tls.crt").write_bytes(certificate)
        return {"tls_certificate_file": folder / "tls.crt", "tls_key_file": folder / "tls.key"}

    def _sign(self, name: x509.Name, public, others, *, ca: bool) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self.name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        )
        if others:
            made = made.add_extension(x509.SubjectAlternativeName(others), critical=False)
        return made.sign(self.key, hashes.SHA256())


@pytest.fixture
def make_authority(tmp_path: Path) -> Callable[[str], Authority]:
    return lambda name: Authority(tmp_path, name)


@pytest.fixture
def authority(make_authority: Callable[[str], Authority]) -> Authority:
    return make_authority("authority")
