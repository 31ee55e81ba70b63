"""The server's certificate from files, and who holds a client's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import (
    PrivateKeyTypes,
    PublicKeyTypes,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

from onnxplain_server.adapters.access.watched_files import FileError, WatchedFiles

_SPIFFE = "spiffe://"
_LONGEST_NAME = 2048


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """What TLS needs, as PEM.

    Attributes
    ----------
    key, chain : bytes
        Of the server; they belong together.
    client_ca : bytes or None
        Who signs the certificates of clients; None where none is asked for.
    """

    key: bytes
    chain: bytes
    client_ca: bytes | None


def watch_certificates(
    certificate: Path, key: Path, client_ca: Path | None
) -> WatchedFiles[CertificateFiles]:
    """Read certificates, and read them again when they change; raises FileError."""
    files = [certificate, key, *([client_ca] if client_ca else [])]
    return WatchedFiles(files, lambda contents: _parse(files, contents))


def _parse(files: Sequence[Path], contents: Sequence[bytes]) -> CertificateFiles:
    chain, key, *rest = contents
    public = _certificate(files[0], chain).public_key()
    if _bytes(public) != _bytes(_key(files[1], key).public_key()):
        raise FileError(f"{files[1]}: the key is not that of {files[0]}")
    if rest:
        _certificate(files[2], rest[0])
    return CertificateFiles(key, chain, rest[0] if rest else None)


def _certificate(file: Path, content: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificates(content)[0]
    except (ValueError, IndexError):
        raise FileError(f"{file}: has no certificates in PEM") from None


def _key(file: Path, content: bytes) -> PrivateKeyTypes:
    try:
        return load_pem_private_key(content, password=None)
    except (ValueError, TypeError):
        raise FileError(f"{file}: has no private key in PEM, without a password") from None


def _bytes(public: PublicKeyTypes) -> bytes:
    return public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


@lru_cache(maxsize=256)
def certificate_caller(certificate: bytes) -> str | None:
    """Name who holds a certificate, which was verified before: by SPIFFE id, else DNS, else CN.

    None where it has none of them, or two SPIFFE ids, which their standard forbids.
    """
    try:
        parsed = x509.load_pem_x509_certificate(certificate)
        name = _name(parsed)
    except ValueError:
        return None
    printable = name is not None and name.isprintable() and len(name) <= _LONGEST_NAME
    return f"mtls:{name}" if printable else None


def _name(parsed: x509.Certificate) -> str | None:
    try:
        others = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        others = x509.SubjectAlternativeName([])
    addresses = others.get_values_for_type(x509.UniformResourceIdentifier)
    if ids := [address for address in addresses if address.startswith(_SPIFFE)]:
        return ids[0] if len(ids) == 1 else None
    if hosts := others.get_values_for_type(x509.DNSName):
        return f"dns:{hosts[0]}"
    common = parsed.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return f"cn:{common[0].value!s}" if common and common[0].value else None
