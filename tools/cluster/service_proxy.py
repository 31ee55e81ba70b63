"""Proxy of Services: kube-proxy, which leads connections to a ClusterIP to a ready pod."""

from __future__ import annotations

import subprocess
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tools.waiting import until

_CLUSTER_ADDRESSES = "10.198.0.0/16"
_POD_ADDRESSES = "10.200.0.0/16"
_HEALTH = "127.0.0.1:10256"


class ServiceProxy:
    """A running kube-proxy, for all nodes of a network namespace; `stop` ends it.

    It needs iptables.

    Parameters
    ----------
    binaries : Path
        Folder of kube-proxy.
    kubeconfig : Path
    folder : Path
        For the log.
    """

    def __init__(self, binaries: Path, kubeconfig: Path, folder: Path) -> None:
        # A route, so that a connection reaches the rules that replace its destination.
        route = ["ip", "route", "replace", _CLUSTER_ADDRESSES, "dev", "lo"]
        subprocess.run(route, check=True)
        flags = [
            f"--kubeconfig={kubeconfig}",
            "--proxy-mode=iptables",
            "--hostname-override=node-a",
            "--bind-address=127.0.0.1",
            f"--healthz-bind-address={_HEALTH}",
            f"--cluster-cidr={_POD_ADDRESSES}",
            "--detect-local-mode=ClusterCIDR",
            # Settings of the machine, not of the namespace.
            "--conntrack-max-per-core=0",
            "--conntrack-tcp-timeout-established=0",
            "--conntrack-tcp-timeout-close-wait=0",
        ]
        self._log = folder / "kube-proxy.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [binaries / "kube-proxy", *flags], stdout=log, stderr=log
            )
        try:
            until(self._is_healthy)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait()

    def _is_healthy(self) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError(f"kube-proxy has ended:\n{self._log.read_text()[-3000:]}")
        try:
            with urlopen(f"http://{_HEALTH}/healthz") as reply:
                return bool(reply.status == 200)
        except (URLError, OSError):
            return False
