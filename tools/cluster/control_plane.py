"""Control plane: etcd, API server, controller manager and scheduler as processes on loopback."""

from __future__ import annotations

import secrets
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from kubernetes import client

_ADVERTISED = "10.199.0.1"
"""Address of the API server for pods, which have no access to it."""

_PATIENCE = 300.0
_ADMIN = "admin"

_CONTROLLERS = "*,-node-lifecycle-controller,-node-ipam-controller"
"""Without the one that marks nodes without heartbeats, and one that needs ranges of addresses."""


class ControlPlane:
    """A running control plane; `stop` ends it.

    Parameters
    ----------
    binaries : Path
        Folder of etcd, kube-apiserver, kube-controller-manager and kube-scheduler.
    folder : Path
        For data, keys and logs.

    Attributes
    ----------
    kubeconfig : Path
        Of an administrator.
    """

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._folder = folder
        self._binaries = binaries
        self._processes: list[subprocess.Popen[bytes]] = []
        self._token = secrets.token_hex(16)
        self.kubeconfig = folder / "kubeconfig"
        # The API server signs it itself.
        self._certificate = folder / "certificates" / "apiserver.crt"
        self._write_files()
        try:
            self._start_etcd()
            self._start_api_server()
            self._start_controllers()
        except BaseException:
            self.stop()
            raise

    @property
    def api(self) -> client.ApiClient:
        """A client of the API server with all permissions."""
        settings = client.Configuration(
            host="https://127.0.0.1:6443",
            api_key={"authorization": f"Bearer {self._token}"},
        )
        settings.ssl_ca_cert = str(self._certificate)
        return client.ApiClient(settings)

    def stop(self) -> None:
        """Kill all processes."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()

    def log(self, name: str) -> str:
        """Return the log of a process so far."""
        return (self._folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def _write_files(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        (self._folder / "accounts.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )
        (self._folder / "tokens.csv").write_text(f"{self._token},{_ADMIN},1,system:masters\n")
        cluster = {
            "server": "https://127.0.0.1:6443",
            "certificate-authority": str(self._certificate),
        }
        self.kubeconfig.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": _ADMIN,
                    "clusters": [{"name": _ADMIN, "cluster": cluster}],
                    "users": [{"name": _ADMIN, "user": {"token": self._token}}],
                    "contexts": [{"name": _ADMIN, "context": {"cluster": _ADMIN, "user": _ADMIN}}],
                }
            ),
            encoding="utf-8",
        )

    def _start(self, name: str, program: Path, flags: Sequence[str]) -> None:
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes.append(subprocess.Popen([program, *flags], stdout=log, stderr=log))

    def _start_etcd(self) -> None:
        flags = [
            f"--data-dir={self._folder / 'etcd'}",
            "--listen-client-urls=http://127.0.0.1:2379",
            "--advertise-client-urls=http://127.0.0.1:2379",
            "--listen-peer-urls=http://127.0.0.1:2380",
            "--unsafe-no-fsync",
        ]
        self._start("etcd", self._binaries / "etcd", flags)
        self._wait("etcd", lambda: _answers("http://127.0.0.1:2379/health"))

    def _start_api_server(self) -> None:
        key = self._folder / "accounts.key"
        flags = [
            "--etcd-servers=http://127.0.0.1:2379",
            "--bind-address=127.0.0.1",
            "--secure-port=6443",
            f"--advertise-address={_ADVERTISED}",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.198.0.0/16",
            f"--token-auth-file={self._folder / 'tokens.csv'}",
            f"--cert-dir={self._certificate.parent}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction,PodSecurity,ResourceQuota,LimitRanger",
            # Nobody would take the taint of a new node away.
            "--disable-admission-plugins=TaintNodesByCondition",
            "--enable-aggregator-routing=true",
        ]
        self._start("kube-apiserver", self._binaries / "kube-apiserver", flags)
        health = "https://127.0.0.1:6443/readyz"
        self._wait(
            "kube-apiserver",
            lambda: self._certificate.exists() and _answers(health, self._token, self._certificate),
        )

    def _start_controllers(self) -> None:
        kubeconfig = f"--kubeconfig={self.kubeconfig}"
        key = self._folder / "accounts.key"
        self._start(
            "kube-controller-manager",
            self._binaries / "kube-controller-manager",
            [
                kubeconfig,
                "--leader-elect=false",
                f"--service-account-private-key-file={key}",
                "--use-service-account-credentials",
                f"--controllers={_CONTROLLERS}",
                f"--cert-dir={self._folder / 'controllers'}",
                "--horizontal-pod-autoscaler-sync-period=2s",
            ],
        )
        self._wait("kube-controller-manager", lambda: _listens(10257))
        self._start(
            "kube-scheduler",
            self._binaries / "kube-scheduler",
            [kubeconfig, "--leader-elect=false", "--authentication-skip-lookup"],
        )
        self._wait("kube-scheduler", lambda: _listens(10259))

    def _wait(self, name: str, is_ready: Callable[[], bool]) -> None:
        process, end = self._processes[-1], time.monotonic() + _PATIENCE
        while not is_ready():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{name} does not answer:\n{self.log(name)[-3000:]}")
            time.sleep(0.1)


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port)):
            return True
    except OSError:
        return False


def _answers(url: str, token: str = "", authority: Path | None = None) -> bool:
    context = None if authority is None else ssl.create_default_context(cafile=authority)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        request = Request(url, headers=headers)  # noqa: S310 - of loopback
        with urlopen(request, context=context) as reply:  # noqa: S310
            return bool(reply.status == 200)
    except (URLError, OSError):
        return False
