"""Probes of a container: startup, liveness and readiness, by gRPC, HTTP, TCP or a command."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc


@dataclass(frozen=True)
class Prober:
    """Runs the probes of a container.

    Attributes
    ----------
    address : str
        Of the pod.
    ports : mapping of str to int
        The container's ports by their names.
    pid : int
        Of the container's process, whose mounts a command sees.
    variables : mapping of str to str
        Of the container.
    """

    address: str
    ports: Mapping[str, int]
    pid: int
    variables: Mapping[str, str]

    def succeeds(self, probe: Any) -> bool:
        """Run a probe once."""
        seconds = float(probe.timeout_seconds or 1)
        if probe.grpc is not None:
            return self._grpc_serves(probe.grpc, seconds)
        if probe.http_get is not None:
            return self._http_answers(probe.http_get, seconds)
        if probe.tcp_socket is not None:
            return self._tcp_connects(probe.tcp_socket, seconds)
        return self._command_succeeds(probe._exec, seconds)  # noqa: SLF001 - the client's name

    def _command_succeeds(self, action: Any, seconds: float) -> bool:
        inside = ["nsenter", "--mount", f"--target={self.pid}"]
        try:
            done = subprocess.run(
                [*inside, *action.command],
                env={"PATH": os.environ["PATH"], **self.variables},
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

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
        url = f"http://{self.address}:{self._port(action)}{action.path}"
        try:
            with urlopen(url, timeout=seconds) as reply:
                return bool(reply.status == 200)
        except (URLError, OSError):
            return False

    def _tcp_connects(self, action: Any, seconds: float) -> bool:
        try:
            with socket.create_connection((self.address, self._port(action)), seconds):
                return True
        except OSError:
            return False

    def _port(self, action: Any) -> Any:
        return self.ports.get(action.port, action.port)


class Health:
    """Health of a run of a container, by its three probes.

    Probes run as often as they are asked for. A container fails to live after as many failures, and
    after as long, as its probe says.
    """

    def __init__(self, container: Any, prober: Prober) -> None:
        self._prober = prober
        self._liveness = container.liveness_probe
        self._readiness = container.readiness_probe
        self._startup = container.startup_probe
        self._alive_time = time.monotonic()
        self._failures = 0
        self._unready_count = 0
        self._is_ready = False

    def lives(self) -> bool:
        """Probe whether it has started, then whether it lives."""
        probe = self._startup or self._liveness
        if probe is None or self._prober.succeeds(probe):
            self._startup = None
            self._alive_time, self._failures = time.monotonic(), 0
            return True
        self._failures += 1
        threshold = probe.failure_threshold or 3
        seconds = threshold * (probe.period_seconds or 10) + (probe.initial_delay_seconds or 0)
        return self._failures < threshold or time.monotonic() < self._alive_time + seconds

    def is_ready(self) -> bool:
        """Probe whether it is ready: at once where it succeeds, after some failures not."""
        if self._startup is not None:
            return False
        probe = self._readiness
        if probe is None or self._prober.succeeds(probe):
            self._is_ready, self._unready_count = True, 0
        else:
            self._unready_count += 1
            self._is_ready &= self._unready_count < (probe.failure_threshold or 3)
        return self._is_ready
