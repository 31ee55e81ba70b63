"""Flags of a Dask cluster that computes what is exact in blocks, and predicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from onnxplain_server.cli.failure import CommandError, UsageFault

if TYPE_CHECKING:
    from onnxplain_server.adapters.cluster.executors import ClusterWorkers

DaskScheduler: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Scheduler of a Dask cluster, tcp://HOST:PORT or tls://HOST:PORT: its workers predict "
        "by models that are no sums over trees; they read a Parquet or Arrow table from the same "
        "path, and compute what is exact in blocks.",
    ),
]
DaskCaFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Certificate authorities of the Dask cluster, for tls:// (PEM)."
    ),
]
DaskCertificateFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Certificate for the Dask cluster, for tls:// (PEM)."),
]
DaskKeyFile: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Private key of that certificate (PEM).")
]

_SCHEDULER, _TLS_SCHEME = "--dask-scheduler", "tls://"


@dataclass(frozen=True, slots=True)
class DaskCluster:
    """Flags of a Dask cluster."""

    dask_scheduler: str | None = None
    dask_ca_file: Path | None = None
    dask_certificate_file: Path | None = None
    dask_key_file: Path | None = None

    @classmethod
    def from_flags(cls, flags: Mapping[str, Any]) -> DaskCluster:
        """Take the flags of a cluster out of all flags of a command."""
        return cls(**{field.name: flags[field.name] for field in fields(cls)})

    @contextmanager
    def open(self, endpoint: str | None) -> Iterator[ClusterWorkers | None]:
        """Connect to the cluster; None where no flag names one.

        Parameters
        ----------
        endpoint : str or None
            Server that is called instead.

        Raises
        ------
        ExplainError
            UNAVAILABLE.
        """
        self._check(endpoint)
        if self.dask_scheduler is None:
            yield None
            return
        try:
            from onnxplain_server.adapters.cluster import dask_client
        except ModuleNotFoundError as error:
            raise CommandError(
                "DASK_MISSING",
                f"{error.name} is not installed: pip install 'onnxplain-server[dask]'",
            ) from None
        with dask_client.connected(self.dask_scheduler, self._files()) as workers:
            yield workers

    def _files(self) -> tuple[Path, ...]:
        """Return the files of TLS: authorities, certificate and key; none without TLS."""
        files = (self.dask_ca_file, self.dask_certificate_file, self.dask_key_file)
        return tuple(file for file in files if file is not None)

    def _check(self, endpoint: str | None) -> None:
        address, files = self.dask_scheduler, self._files()
        if address is None:
            if files:
                raise UsageFault("the files of TLS need --dask-scheduler", _SCHEDULER)
            return
        if endpoint:
            raise UsageFault("a server computes by itself: leave --endpoint out", _SCHEDULER)
        if address.startswith(_TLS_SCHEME) and len(files) < 3:
            raise UsageFault(
                "tls:// needs --dask-ca-file, --dask-certificate-file and --dask-key-file",
                _SCHEDULER,
            )
        if files and not address.startswith(_TLS_SCHEME):
            raise UsageFault("the files of TLS need an address with tls://", _SCHEDULER)
