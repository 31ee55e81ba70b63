"""Two replicas and a Redis, with a proxy on every way between them and to the clients."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path

from rig.proxy import Network, Proxy
from rig.redis_server import RedisServer
from rig.replica import Replica

from tools.ports import free_ports

RESTARTED, STEADY = "A", "B"
"""Only the first one is ever killed or stopped: the second one's memory is looked at."""

_SETTINGS = {
    "CACHE_SECONDS": "60",
    # Small enough to be full before memory is looked at.
    "CACHE_BYTES": "8MiB",
    "UPLOAD_BYTES": "4MiB",
    "UPLOAD_SECONDS": "30",
    "WARM_BYTES": "256MiB",
    # Hostile models shall crash workers again and again, not once.
    "QUARANTINE_SECONDS": "20",
    "MAX_LOAD_SECONDS": "10",
}


class Cluster:
    """Starts all of it, and ends it.

    Parameters
    ----------
    folder : Path
        For logs.
    seed : int
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._scratch = tempfile.TemporaryDirectory()
        ports = free_ports(7)
        self.network = Network()
        self.redis = RedisServer(ports[6], Path(self._scratch.name))
        self.replicas: dict[str, Replica] = {}
        self.to_redis: dict[str, Proxy] = {}
        self.to_grpc: dict[str, Proxy] = {}
        self.to_rest: dict[str, Proxy] = {}
        secret = secrets.token_hex(16)
        for number, name in enumerate((RESTARTED, STEADY)):
            rest, grpc, metrics = ports[3 * number : 3 * number + 3]
            self.to_redis[name] = self.network.proxy(0, self.redis.port, seed + number)
            self.to_grpc[name] = self.network.proxy(0, grpc, seed + number)
            self.to_rest[name] = self.network.proxy(0, rest, seed + number)
            url = f"redis://127.0.0.1:{self.to_redis[name].port}/0"
            given = {**_SETTINGS, "REDIS_URL": url, "CACHE_SECRET": secret}
            settings = {f"ONNXPLAIN_{key}": value for key, value in given.items()}
            log = folder / f"replica-{name}.log"
            self.replicas[name] = Replica(name, (rest, grpc, metrics), settings, log)

    def start(self) -> None:
        """Start all, and wait until they take requests."""
        self.redis.start()
        for replica in self.replicas.values():
            replica.start()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until every replica takes requests."""
        for replica in self.replicas.values():
            replica.wait_ready()

    def grpc_ports(self) -> list[int]:
        """Where clients find gRPC."""
        return [proxy.port for proxy in self.to_grpc.values()]

    def rest_ports(self) -> list[int]:
        """Where clients find REST."""
        return [proxy.port for proxy in self.to_rest.values()]

    def close(self) -> list[int]:
        """End all; return the exit codes of the replicas."""
        self.redis.thaw()
        codes = [replica.terminate() for replica in self.replicas.values()]
        self.redis.close()
        self.network.close()
        self._scratch.cleanup()
        return codes
