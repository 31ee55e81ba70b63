"""Pod specification: command, variables and files of a container's process."""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


class MissingError(Exception):
    """A Secret, a ConfigMap or a key that the pod needs does not exist."""


class PodFiles:
    """Reader of the Secrets and ConfigMaps of a namespace."""

    def __init__(self, core: client.CoreV1Api, namespace: str) -> None:
        self._core = core
        self._namespace = namespace

    def secret(self, name: str, *, optional: bool = False) -> Mapping[str, bytes]:
        """Return the entries of a Secret; none of one that is missing and optional."""
        try:
            data = self._core.read_namespaced_secret(name, self._namespace).data or {}
        except ApiException as error:
            return _missing(error, f"Secret {name}", optional=optional)
        return {key: base64.b64decode(value) for key, value in data.items()}

    def config_map(self, name: str, *, optional: bool = False) -> Mapping[str, bytes]:
        """Return the entries of a ConfigMap; none of one that is missing and optional."""
        try:
            found: Any = self._core.read_namespaced_config_map(name, self._namespace)
        except ApiException as error:
            return _missing(error, f"ConfigMap {name}", optional=optional)
        texts = {key: value.encode() for key, value in (found.data or {}).items()}
        binary = {key: base64.b64decode(text) for key, text in (found.binary_data or {}).items()}
        return texts | binary

    def mounted(self, volumes: Sequence[Any], mounts: Sequence[Any]) -> dict[str, dict[str, bytes]]:
        """Return the files of each mount of a Secret or a ConfigMap, by the mount's folder."""
        files = {}
        by_name = {volume.name: volume for volume in volumes}
        for mount in mounts:
            volume = by_name[mount.name]
            if volume.secret is not None:
                source, entries = volume.secret, self.secret(volume.secret.secret_name)
            elif volume.config_map is not None:
                source, entries = volume.config_map, self.config_map(volume.config_map.name)
            else:
                continue
            chosen = {item.key: item.path for item in source.items or []}
            files[mount.mount_path] = {
                chosen.get(key, key): content
                for key, content in entries.items()
                if not chosen or key in chosen
            }
        return files

    def variables(self, container: Any) -> dict[str, str]:
        """Return the variables of a container, with references to earlier ones replaced."""
        found: dict[str, str] = {}
        for source in container.env_from or []:
            if source.secret_ref is not None:
                entries = self.secret(source.secret_ref.name)
            else:
                entries = self.config_map(source.config_map_ref.name)
            found |= {key: value.decode() for key, value in entries.items()}
        for variable in container.env or []:
            reference = variable.value_from and variable.value_from.secret_key_ref
            if not reference:
                found[variable.name] = _expand(variable.value or "", found)
                continue
            entries = self.secret(reference.name, optional=bool(reference.optional))
            if reference.key in entries:
                found[variable.name] = entries[reference.key].decode()
            elif not reference.optional:
                raise MissingError(f"Secret {reference.name} has no key {reference.key}")
        return found


def command_of(container: Any, variables: Mapping[str, str]) -> list[str]:
    """Return the command of a container; that of the service's image is `onnxplain`."""
    start = container.command or [sys.executable, "-m", "onnxplain_server"]
    return [_expand(word, variables) for word in [*start, *(container.args or [])]]


def _expand(text: str, variables: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda match: variables.get(match[1], match[0]), text)


def _missing(error: ApiException, what: str, *, optional: bool) -> dict[str, bytes]:
    if error.status != 404 or not optional:
        raise MissingError(what) from None
    return {}
