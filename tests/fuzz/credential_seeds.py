"""Seeds of the targets of credentials."""

from __future__ import annotations

import datetime
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping

import jwt
from credential_targets import ALGORITHM, AUDIENCE, ISSUER
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from onnxplain_server.adapters.access.tokens import token_line

_CLAIMS = {"iss": ISSUER, "aud": AUDIENCE, "exp": 2**33, "nbf": 1, "iat": 1.5, "sub": "ada"}


def corpus() -> dict[str, list[bytes]]:
    """Return what each target reads well."""
    elsewhere = ec.generate_private_key(ec.SECP256R1())
    return {
        "authorization": [
            b"Bearer abc",
            f"Bearer {jwt.encode(_CLAIMS, elsewhere, ALGORITHM)}".encode(),
            f"bearer {_unsigned({'alg': 'none', 'kid': None, 'typ': 'JWT', 'crit': []})}".encode(),
            f"Bearer {_unsigned({'alg': ALGORITHM, 'kid': '1', 'b64': False})}".encode(),
        ],
        "claims": [json.dumps(each).encode() for each in (_CLAIMS, _CLAIMS | {"aud": [AUDIENCE]})],
        "key_set": [json.dumps({"keys": _keys()}).encode()],
        "discovery": [
            json.dumps({"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys", "keys": _keys()}).encode()
        ],
        "certificate": [_certificate(elsewhere)],
        "token_file": [f"# of the tests\n{token_line('ada', 't')}\n\n".encode()],
    }


def _unsigned(header: Mapping[str, object]) -> str:
    parts = (json.dumps(part).encode() for part in (header, _CLAIMS))
    return ".".join(urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + ".c2ln"


def _keys() -> list[Mapping[str, object]]:
    curve = ec.generate_private_key(ec.SECP256R1()).public_key()
    numbers = rsa.generate_private_key(65537, 2048).public_key()
    edwards = ed25519.Ed25519PrivateKey.generate().public_key()
    written = (
        jwt.algorithms.ECAlgorithm.to_jwk(curve),
        jwt.algorithms.RSAAlgorithm.to_jwk(numbers),
        jwt.algorithms.OKPAlgorithm.to_jwk(edwards),
    )
    return [json.loads(key) | {"kid": "1", "use": "sig"} for key in written]


def _certificate(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a certificate with the three kinds of names that a caller can have."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ada")])
    today = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    names = x509.SubjectAlternativeName(
        [x509.UniformResourceIdentifier("spiffe://a/b"), x509.DNSName("a.test")]
    )
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, today, today.replace(2126))
    signed = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    return signed.public_bytes(Encoding.DER)
