"""Programs that the tests of a release run, and a registry of images."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from urllib.request import Request, urlopen

from tools.ports import free_port

ROOT = Path(__file__).parents[3]
COSIGN = ROOT / "tools/cosign/bin/cosign"
PATIENCE = 300.0
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def run(*command: str | Path, folder: Path, **variables: str) -> str:
    """Run a command in a folder, and return what it prints."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Registry:
    """Debian's registry of images, on a port of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "storage"
        self.address = f"127.0.0.1:{free_port()}"
        settings = {
            "version": 0.1,
            "storage": {"filesystem": {"rootdirectory": str(self.folder)}},
            "http": {"addr": self.address},
            "log": {"level": "error", "accesslog": {"disabled": True}},
        }
        file = folder / "registry.yaml"
        file.write_text(json.dumps(settings), encoding="utf-8")
        self.process = subprocess.Popen(["docker-registry", "serve", file])
        end = time.monotonic() + PATIENCE
        while True:
            try:
                urlopen(f"http://{self.address}/v2/", timeout=PATIENCE).close()
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.05)
            else:
                return

    def digest(self, name: str, tag: str) -> str:
        """The digest that a tag leads to."""
        link = self.folder / f"docker/registry/v2/repositories/{name}/_manifests/tags/{tag}"
        return (link / "current/link").read_text(encoding="utf-8")

    def put_changed(self, name: str, tag: str, other: str) -> None:
        """Put what a tag leads to under another tag, with an annotation more."""
        manifest = json.loads(self.blob(self.digest(name, tag)).read_bytes())
        manifest["annotations"] = {**manifest.get("annotations", {}), "changed": "yes"}
        request = Request(
            f"http://{self.address}/v2/{name}/manifests/{other}",
            data=json.dumps(manifest).encode(),
            headers={"Content-Type": manifest.get("mediaType", OCI_MANIFEST)},
            method="PUT",
        )
        urlopen(request, timeout=PATIENCE).close()  # noqa: S310 - as above

    def blob(self, digest: str) -> Path:
        """The file that holds what has a digest."""
        kind, _, digits = digest.partition(":")
        return self.folder / f"docker/registry/v2/blobs/{kind}/{digits[:2]}/{digits}/data"
