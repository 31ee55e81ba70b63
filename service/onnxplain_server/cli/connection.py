"""Connection flags of every command that calls a server: token, TLS and client certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import onnxplain
import typer

from onnxplain_server.cli import files
from onnxplain_server.cli.failure import CommandError, UsageFault

Endpoint: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="gRPC address of a server; default: compute in this process."
    ),
]
Timeout: TypeAlias = Annotated[
    float | None, typer.Option(min=0, metavar="SECONDS", help="Timeout of the call.")
]
TokenFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="File with the access token; or set ONNXPLAIN_TOKEN."),
]
Tls: TypeAlias = Annotated[
    bool, typer.Option("--tls", help="Use TLS, with the system's certificate authorities.")
]
CaFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Use TLS, with the certificate authorities in this file (PEM)."
    ),
]
CertificateFile: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Use TLS with this client certificate (PEM).")
]
KeyFile: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Private key of the client certificate (PEM).")
]
AllowUnencryptedToken: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--allow-unencrypted-token",
        help="Send the token without TLS to another machine, if something else encrypts.",
    ),
]


@dataclass(frozen=True, slots=True)
class Connection:
    """Connection flags of a command."""

    token_file: Path | None = None
    tls: bool = False
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    allow_unencrypted_token: bool = False

    @classmethod
    def from_flags(cls, flags: Mapping[str, Any]) -> Connection:
        """Take the connection flags out of all flags of a command."""
        return cls(**{field.name: flags[field.name] for field in fields(cls)})

    def open(self, endpoint: str, timeout: float | None) -> onnxplain.Client:
        """Open a client; a usage error if the flags contradict each other."""
        try:
            return onnxplain.connect(
                endpoint,
                token=self._token(),
                tls=self.tls,
                ca_file=self.ca_file,
                certificate_file=self.certificate_file,
                key_file=self.key_file,
                allow_unencrypted_token=self.allow_unencrypted_token,
                timeout=timeout,
            )
        except ValueError as error:
            raise UsageFault(str(error)) from None
        except OSError as error:
            message = f"cannot read {error.filename}: {error.strerror}"
            raise CommandError("FILE_UNREADABLE", message) from None

    def check_unused(self) -> None:
        """Refuse connection flags without an endpoint, which would have no effect."""
        for field in fields(self):
            if getattr(self, field.name) != field.default:
                flag = field.name.replace("_", "-")
                raise UsageFault("needs --endpoint: without it, no server is called", f"--{flag}")

    def _token(self) -> str | None:
        if self.token_file is None:
            from onnxplain_server.config.loading import token_variable

            return token_variable()
        return files.read(str(self.token_file)).decode(errors="replace").strip()
