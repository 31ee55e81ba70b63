"""Process that calls remote models: confines itself to the network, then serves sessions.

Started by `remote_calls`; ends with its server. Arguments: descriptor of the control socket,
file of the list, memory in bytes.
"""

from __future__ import annotations

import importlib
import os
import ssl
import sys
from functools import partial
from pathlib import Path

import grpc
from onnxplain.v1.model_pb2 import Model, RemoteModel

from onnxplain_server.adapters.network_processes import confined_process
from onnxplain_server.adapters.remote.open_remote import open_remote
from onnxplain_server.adapters.remote_server.call_session import CallCounter, serve_session
from onnxplain_server.adapters.remote_server.entry_policies import EntryPolicies
from onnxplain_server.adapters.remote_server.remote_list import (
    RemoteList,
    read_remote_list,
)
from onnxplain_server.adapters.runner.remote.named_remote import remote_model
from onnxplain_server.core.counts.remote_counts import CountKind
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import NO_BLOBS
from onnxplain_server.core.remote.listing import URI_FIELD
from onnxplain_server.core.remote.models import RemotePredictions
from onnxplain_server.core.sources import FetchControl

_THREAD_COUNT = 256
_LIBRARIES = (
    *("encodings.idna", "encodings.punycode", "encodings.utf_16", "encodings.latin_1"),
    *("grpc._channel", "grpc._common", "pkgutil", "urllib3.util.ssl_", "urllib3.contrib"),
)
"""Modules that are imported where they are used."""

_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
"""Certificates of the system in one file, as gRPC wants them."""


def main() -> None:
    """Serve until the server closes the control socket."""
    control = confined_process.begin()
    remotes = read_remote_list(Path(sys.argv[2]))
    policies = EntryPolicies(remotes)
    _preload()
    missing = confined_process.confine_to_network(
        int(sys.argv[3]),
        _THREAD_COUNT,
        {entry.port for entry in remotes.entries},
        _files(remotes),
    )
    open_model = partial(_open, remotes, policies)
    confined_process.serve(control, missing, 2, partial(serve_session, open_model))


def _preload() -> None:
    """Import what is out of reach later, and let gRPC trust the certificates of the system."""
    for name in _LIBRARIES:
        importlib.import_module(name)
    bundles = [ssl.get_default_verify_paths().cafile or "", *_BUNDLES]
    found = next((name for name in bundles if Path(name).is_file()), None)
    if found is not None:
        os.environ["GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"] = found


def _files(remotes: RemoteList) -> set[Path]:
    """Return folders that stay readable: secrets of Kubernetes are replaced as a whole."""
    named = [name for entry in remotes.entries for name in (entry.credentials_file, entry.ca_file)]
    own = Path(grpc.__file__).parent / "_cython" / "_credentials"  # where the system has none
    return {own, *(Path(name).absolute().parent for name in named if name)}


def _open(
    remotes: RemoteList,
    policies: EntryPolicies,
    model: bytes,
    control: FetchControl,
    counter: CallCounter,
) -> RemotePredictions:
    """Open the model of a serialised RemoteModel; ExplainError."""
    message = RemoteModel.FromString(model)
    uri, entry = remotes.find(message.uri, message.name, message.version)
    policy = policies.policy(
        entry, partial(counter.count, CountKind.CALLS), partial(counter.count, CountKind.RETRIES)
    )
    message.uri = uri
    named = remote_model(Model(remote=message), NO_BLOBS)
    if named is None:
        raise ExplainError(Reason.INVALID_REQUEST, "the request names no remote model", URI_FIELD)
    return open_remote(named.address, policy, control)


if __name__ == "__main__":
    main()
