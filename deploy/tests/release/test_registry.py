"""Image and chart of a release in a registry: signed, installable, and refused where changed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from release_programs import COSIGN, PATIENCE, ROOT, Registry, run


@pytest.fixture(scope="session")
def registry(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry that image and chart of the release were pushed to."""
    found = Registry(tmp_path_factory.mktemp("registry"))
    try:
        keys = f"RELEASE_KEYS={os.environ['TEST_RELEASE_KEYS']}"
        pushed = [f"RELEASE={release}", keys, f"REGISTRY={found.address}", "PLAIN_HTTP=1"]
        run("make", "--silent", "release-push", *pushed, folder=ROOT)
        yield found
    finally:
        found.process.terminate()
        found.process.wait(PATIENCE)


def verified(
    release: Path, folder: Path, call: str, reference: str, *options: str
) -> subprocess.CompletedProcess[str]:
    """Ask cosign whether the release's key signed what lies in the registry."""
    root = folder / "root.json"
    subprocess.run([COSIGN, "trusted-root", "create", "--out", root], check=True)
    given: list[str | Path] = ["--key", release / "cosign.pub", "--insecure-ignore-tlog"]
    given += ["--trusted-root", root]
    return subprocess.run(
        [COSIGN, call, *given, "--allow-http-registry", *options, reference],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", ["onnxplain", "charts/onnxplain"])
def test_image_and_chart_are_signed_and_others_of_their_name_are_not(
    registry: Registry, release: Path, version: str, tmp_path: Path, name: str
) -> None:
    digest = registry.digest(name, version)
    registry.put_changed(name, version, "changed")

    good = verified(release, tmp_path, "verify", f"{registry.address}/{name}@{digest}")
    bad = verified(release, tmp_path, "verify", f"{registry.address}/{name}:changed")

    assert good.returncode == 0, good.stderr
    assert bad.returncode != 0
    assert registry.digest(name, "changed") != digest


def test_the_image_has_a_signed_list_of_its_parts(
    registry: Registry, release: Path, version: str, tmp_path: Path
) -> None:
    reference = f"{registry.address}/onnxplain@{registry.digest('onnxplain', version)}"

    asked = verified(release, tmp_path, "verify-attestation", reference, "--type", "cyclonedx")

    assert asked.returncode == 0, asked.stderr


def test_helm_installs_the_chart_of_the_registry(
    registry: Registry, version: str, tmp_path: Path
) -> None:
    helm = ROOT / "tools/kubernetes/bin/helm"
    chart = f"oci://{registry.address}/charts/onnxplain"
    printed = run(
        *(helm, "template", "release", chart, "--version", version, "--plain-http"), folder=tmp_path
    )

    assert f"image: onnxplain:{version}" in printed


def test_a_changed_layer_is_refused_when_it_is_pulled(
    registry: Registry, version: str, tmp_path: Path
) -> None:
    digest = registry.digest("onnxplain", version)
    layer = json.loads(registry.blob(digest).read_bytes())["layers"][-1]["digest"]
    file = registry.blob(layer)
    content = bytearray(file.read_bytes())
    changed = bytearray(content)
    changed[len(changed) // 2] ^= 1
    pull = ["skopeo", "copy", "--quiet", "--src-tls-verify=false"]
    source = f"docker://{registry.address}/onnxplain@{digest}"
    file.write_bytes(changed)
    try:
        done = subprocess.run(
            [*pull, source, f"dir:{tmp_path / 'bad'}"], capture_output=True, check=False
        )
    finally:
        file.write_bytes(content)

    assert done.returncode != 0
    run(*pull, source, f"dir:{tmp_path / 'good'}", folder=tmp_path)
