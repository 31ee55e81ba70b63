"""Pod as processes: starts them, runs their probes, and stops them as a kubelet does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tools.cluster.pod_spec import PodFiles, command_of

_HOST_VARIABLES = ("PATH", "LANG", "HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR")


class PodProcess:
    """The process of a pod with one container; further containers are not run.

    Parameters
    ----------
    pod : V1Pod
    address : str
        Its own, on the loopback interface.
    files : PodFiles
    hosts : Path
        Table of host names, kept up to date by the kubelet.
    folder : Path
        For its files and its log.

    Attributes
    ----------
    is_ready : bool
        Result of the readiness probe.
    exit_code : int or None
        None while it runs.
    reported : object
        What the kubelet reported last.
    """

    def __init__(self, pod: Any, address: str, files: PodFiles, hosts: Path, folder: Path) -> None:
        self.pod = pod
        self.address = address
        self.folder = folder
        self.is_ready = False
        self.reported: object = None
        self._container = pod.spec.containers[0]
        self._files = files
        self._hosts = hosts
        self._stopping = threading.Event()
        self._process = self._start()
        self._prober = threading.Thread(target=self._probe_readiness, daemon=True)
        self._prober.start()

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    @property
    def log(self) -> str:
        """Output so far."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def stop(self, grace_seconds: float) -> None:
        """Run the preStop hook, send SIGTERM, wait for the grace period, and kill."""
        self._stopping.set()
        end = time.monotonic() + grace_seconds
        lifecycle = self._container.lifecycle
        if lifecycle and lifecycle.pre_stop and lifecycle.pre_stop.sleep:
            time.sleep(min(lifecycle.pre_stop.sleep.seconds, grace_seconds))
        if self.exit_code is None:
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def refresh_files(self) -> None:
        """Write the present content of mounted Secrets and ConfigMaps, as a kubelet does."""
        mounted = self._files.mounted(
            self.pod.spec.volumes or [], self._container.volume_mounts or []
        )
        for number, (_, entries) in enumerate(sorted(mounted.items())):
            place = self.folder / f"files-{number}"
            place.mkdir(exist_ok=True)
            for name, content in entries.items():
                changed = place / f".{name}"
                changed.write_bytes(content)
                changed.replace(place / name)

    def _start(self) -> subprocess.Popen[bytes]:
        self.folder.mkdir(parents=True)
        temporary = self.folder / "tmp"
        temporary.mkdir()
        self.refresh_files()
        variables = {name: os.environ[name] for name in _HOST_VARIABLES if name in os.environ}
        variables |= {"ONNXPLAIN_HOST": self.address, "TMPDIR": str(temporary)}
        variables |= self._files.variables(self._container)
        specification = self.folder / "specification.json"
        specification.write_text(
            json.dumps(
                {
                    "mounts": self._mounts(),
                    "hosts": str(self._hosts),
                    "command": command_of(self._container, variables),
                    "variables": variables,
                }
            ),
            encoding="utf-8",
        )
        launcher = [sys.executable, "-m", "tools.cluster.launcher", str(specification)]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                ["unshare", "--mount", *launcher], stdout=log, stderr=log, start_new_session=True
            )

    def _mounts(self) -> Mapping[str, str]:
        """Return folders to mount; /tmp is not hidden, since the checkout may lie there."""
        mounts = self._container.volume_mounts or []
        of_files = self._files.mounted(self.pod.spec.volumes or [], mounts)
        folders = {
            str(self.folder / f"files-{number}"): place
            for number, place in enumerate(sorted(of_files))
        }
        for mount in mounts:
            if mount.mount_path not in of_files and mount.mount_path != "/tmp":  # noqa: S108
                place = self.folder / f"volume-{mount.name}"
                place.mkdir()
                folders[str(place)] = mount.mount_path
        return folders

    def _probe_readiness(self) -> None:
        probe, failures = self._container.readiness_probe, 0
        while self.exit_code is None and not self._stopping.is_set():
            if probe is None or self._probe(probe):
                self.is_ready, failures = True, 0
            else:
                failures += 1
                if failures >= (probe.failure_threshold or 3):
                    self.is_ready = False
            # More often than asked, which shortens tests and changes nothing else.
            self._stopping.wait(0.5)
        self.is_ready = False

    def _probe(self, probe: Any) -> bool:
        seconds = float(probe.timeout_seconds or 1)
        if probe.grpc is not None:
            return self._grpc_serves(probe.grpc, seconds)
        if probe.http_get is not None:
            return self._http_answers(probe.http_get, seconds)
        inside = ["nsenter", "--mount", f"--target={self._process.pid}"]
        variables = self._files.variables(self._container)
        ran = subprocess.run(
            [*inside, *probe._exec.command],  # noqa: SLF001 - the client's name for it
            env={"PATH": os.environ["PATH"], **variables},
            capture_output=True,
            check=False,
        )
        return ran.returncode == 0

    def _grpc_serves(self, action: Any, seconds: float) -> bool:
        with grpc.insecure_channel(f"{self.address}:{action.port}") as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            try:
                request = health_pb2.HealthCheckRequest(service=action.service or "")
                reply = stub.Check(request, timeout=seconds)
            except grpc.RpcError:
                return False
        return bool(reply.status == health_pb2.HealthCheckResponse.SERVING)

    def _http_answers(self, action: Any, seconds: float) -> bool:
        ports = {port.name: port.container_port for port in self._container.ports}
        port = ports.get(action.port, action.port)
        try:
            with urlopen(f"http://{self.address}:{port}{action.path}", timeout=seconds) as reply:
                return bool(reply.status == 200)
        except (URLError, OSError):
            return False
