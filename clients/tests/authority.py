"""Certificates for a server and its callers."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)
_HERE = (x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1")))


class Authority:
    """Signs certificates, and writes them into a folder.

    Attributes
    ----------
    file : Path
        Its own certificate.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named("authority")
        own = self._sign("authority", self._key.public_key(), (), is_authority=True)
        self.file = self._write("authority.crt", own)

    def serve(self) -> dict[str, Path]:
        """Return the settings of a server with a certificate for this machine."""
        certificate, key = self.issue("server")
        return {"tls_certificate_file": certificate, "tls_key_file": key}

    def issue(self, name: str, *hosts: str) -> tuple[Path, Path]:
        """Write a new certificate for this machine and further hosts, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        signed = self._sign(name, key.public_key(), hosts, is_authority=False)
        return self._write(f"{name}.crt", signed), self._write(f"{name}.key", secret)

    def _sign(
        self,
        name: str,
        key: ec.EllipticCurvePublicKey,
        hosts: Sequence[str],
        *,
        is_authority: bool,
    ) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        names = [*_HERE, *map(x509.DNSName, hosts)]
        made = (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return made.public_bytes(serialization.Encoding.PEM)

    def _write(self, name: str, content: bytes) -> Path:
        path = self._folder / name
        path.write_bytes(content)
        return path


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
