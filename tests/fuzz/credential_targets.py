"""Readers of credentials: of callers, of their provider, and of operators' files."""

from __future__ import annotations

import ssl
import tempfile
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from onnxplain_server.adapters.access import jwks_client
from onnxplain_server.adapters.access.certificates import certificate_caller
from onnxplain_server.adapters.access.jwks_client import KeySet, Provider, ProviderError
from onnxplain_server.adapters.access.oidc import Oidc
from onnxplain_server.adapters.access.tokens import TokenFile, new_token, token_line
from onnxplain_server.adapters.access.watched_files import FileError
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.transport.admission.authentication import Authenticator, Credentials

ALGORITHM = "ES256"
ISSUER, AUDIENCE = "https://issuer.test", "onnxplain"
_KEY = ec.generate_private_key(ec.SECP256R1())
_PUBLIC = jwt.PyJWK.from_json(jwt.algorithms.ECAlgorithm.to_jwk(_KEY.public_key()), ALGORITHM)


def _find(key_id: str | None, algorithm: str, *, wait: bool) -> jwt.PyJWK:
    del wait
    return KeySet({("", ALGORITHM): _PUBLIC}).find(key_id or "", algorithm) or _PUBLIC


def _tokens(folder: str, content: bytes) -> TokenFile:
    file = Path(folder) / "tokens"
    file.write_bytes(content)
    return TokenFile(file)


with tempfile.TemporaryDirectory() as _folder:
    _FILE = _tokens(_folder, token_line("ada", new_token()).encode())
_OIDC = Oidc(ISSUER, AUDIENCE, [ALGORITHM], "sub", _find)
_AUTHENTICATOR = Authenticator([_FILE, _OIDC], certificate_caller)


def sign(payload: bytes) -> str:
    """Return a token with a payload of any bytes, signed by the provider's key."""
    return jwt.PyJWS().encode(payload, _KEY, ALGORITHM)


def authorization(given: bytes) -> None:
    """The header of that name, whose token nobody has signed: it names no caller."""
    with suppress(ExplainError):
        caller = _AUTHENTICATOR.authenticate(Credentials((given.decode("latin-1"),)))
        raise AssertionError(caller)


def claims(given: bytes) -> None:
    """The payload of a signed token: a caller of this provider, or a refusal."""
    with suppress(ExplainError):
        caller = _OIDC.verify(sign(given), wait=True)
        assert caller is not None
        assert caller.startswith(f"oidc:{ISSUER}#")


def key_set(given: bytes) -> None:
    """A provider's set of keys."""
    provider = Provider(ISSUER, f"{ISSUER}/keys", [ALGORITHM, "RS256", "EdDSA"])
    with patch.object(jwks_client, "_fetch", return_value=given), suppress(ProviderError):
        provider.keys()


def discovery(given: bytes) -> None:
    """A provider's configuration, which names the address of its keys."""
    provider = Provider(ISSUER, None, [ALGORITHM])
    with patch.object(jwks_client, "_fetch", return_value=given), suppress(ProviderError):
        provider.keys()


def certificate(given: bytes) -> None:
    """A client's certificate, without its armour."""
    certificate_caller(ssl.DER_cert_to_PEM_cert(given).encode())


def token_file(given: bytes) -> None:
    """A file of tokens."""
    with tempfile.TemporaryDirectory() as folder, suppress(FileError):
        _tokens(folder, given).verify("a token")
