"""Pod as processes: starts them, again where they end, runs their probes, and stops them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.cluster.mounted_files import write_files
from tools.cluster.pod_spec import MissingError, PodFiles, command_of
from tools.cluster.probes import Health, Prober

_HOST_VARIABLES = ("PATH", "LANG", "HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
_POLL_SECONDS = 0.5
_FIRST_PAUSE, _LONGEST_PAUSE = 10.0, 300.0
"""Seconds before the second restart, doubled for each further one; the first is at once."""


@dataclass(frozen=True)
class Run:
    """One run of a container.

    Attributes
    ----------
    number : int
        Restarts before it.
    pid : int
    started : str
        Time in the form of the API.
    finished : str or None
        None while it runs.
    exit_code : int or None
        None while it runs; 128 + N after the signal N.
    """

    number: int
    pid: int
    started: str
    finished: str | None = None
    exit_code: int | None = None


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
    started : str
        Time of the first start, in the form of the API.
    run : Run
        The present one; the last one where the container waits for a restart or has ended.
    previous : Run or None
        The one before it.
    restarts : bool
        Whether it runs again after it ended with this exit code.
    is_ready : bool
        Result of the readiness probe.
    ready_changed : str
        Time of its last change.
    reported : object
        What the kubelet reported last.
    """

    def __init__(self, pod: Any, address: str, files: PodFiles, hosts: Path, folder: Path) -> None:
        self.pod = pod
        self.address = address
        self.folder = folder
        self.is_ready = False
        self.reported: object = None
        self.started = self.ready_changed = now()
        self.previous: Run | None = None
        self._container = pod.spec.containers[0]
        self._files = files
        self._hosts = hosts
        self._stopping = threading.Event()
        self._starting = threading.Lock()
        folder.mkdir(parents=True)
        (folder / "tmp").mkdir()
        self._process = self._start()
        self.run = Run(0, self._process.pid, self.started)
        self._supervisor = threading.Thread(target=self._supervise, daemon=True)
        self._supervisor.start()

    @property
    def restarts(self) -> bool:
        policy = self.pod.spec.restart_policy
        return bool(policy == "Always" or (policy == "OnFailure" and self.run.exit_code))

    @property
    def log(self) -> str:
        """Output so far."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def stop(self, grace_seconds: float) -> None:
        """Run the preStop hook, send SIGTERM, wait for the grace period, and kill; no restart."""
        with self._starting:
            self._stopping.set()
        self._end(grace_seconds)
        self._supervisor.join()

    def refresh_files(self) -> None:
        """Write the present content of mounted Secrets and ConfigMaps, as a kubelet does."""
        mounted = self._files.mounted(
            self.pod.spec.volumes or [], self._container.volume_mounts or []
        )
        for number, (_, entries) in enumerate(sorted(mounted.items())):
            write_files(self.folder / f"files-{number}", entries)

    def _supervise(self) -> None:
        """Watch the runs of the container until its last one has ended."""
        self._watch()
        pause = 0.0
        while self.restarts and not self._stopping.wait(pause):
            pause = min(max(2 * pause, _FIRST_PAUSE), _LONGEST_PAUSE)
            if self._restart():
                self._watch()

    def _restart(self) -> bool:
        with self._starting:
            if self._stopping.is_set():
                return False
            try:
                self._process = self._start()
            except MissingError:
                return False  # tried again, as a kubelet does
            self.previous = self.run
            self.run = Run(self.run.number + 1, self._process.pid, now())
        return True

    def _watch(self) -> None:
        """Run the probes until the process ends; end it where it does not live."""
        health = Health(self._container, self._prober())
        while self._process.poll() is None:
            if not self._stopping.is_set():
                if health.lives():
                    self._set_ready(ready=health.is_ready())
                else:
                    self._set_ready(ready=False)
                    self._end(self.pod.spec.termination_grace_period_seconds or 0)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_POLL_SECONDS)
        self._set_ready(ready=False)
        self._kill(signal.SIGKILL)  # what it started
        code = self._process.returncode
        self.run = replace(self.run, finished=now(), exit_code=code if code >= 0 else 128 - code)

    def _set_ready(self, *, ready: bool) -> None:
        if ready != self.is_ready:
            self.is_ready, self.ready_changed = ready, now()

    def _end(self, grace_seconds: float) -> None:
        end = time.monotonic() + grace_seconds
        lifecycle = self._container.lifecycle
        if lifecycle and lifecycle.pre_stop and lifecycle.pre_stop.sleep:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(min(lifecycle.pre_stop.sleep.seconds, grace_seconds))
        if self._process.poll() is None:
            self._kill(signal.SIGTERM)
        try:
            self._process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._kill(signal.SIGKILL)
            self._process.wait()

    def _kill(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _prober(self) -> Prober:
        ports = {port.name: port.container_port for port in self._container.ports or []}
        return Prober(self.address, ports, self._process.pid, self._variables)

    def _start(self) -> subprocess.Popen[bytes]:
        self.refresh_files()
        variables = {name: os.environ[name] for name in _HOST_VARIABLES if name in os.environ}
        variables |= {"ONNXPLAIN_HOST": self.address, "TMPDIR": str(self.folder / "tmp")}
        self._variables = self._files.variables(self._container)
        variables |= self._variables
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
                place = self._volume(mount.name)
                place.mkdir(parents=True, exist_ok=True)
                folders[str(place)] = mount.mount_path
        return folders

    def _volume(self, name: str) -> Path:
        """Return the folder of a volume: that of its claim outlives the pod."""
        (volume,) = [each for each in self.pod.spec.volumes if each.name == name]
        if claim := volume.persistent_volume_claim:
            metadata = self.pod.metadata
            return self.folder.parent / f"claim-{metadata.namespace}-{claim.claim_name}"
        return self.folder / f"volume-{name}"


def now() -> str:
    """Return the time in the form of the API."""
    return datetime.now(UTC).isoformat()
