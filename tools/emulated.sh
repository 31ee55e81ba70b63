#!/usr/bin/env bash
# Run a command that starts programs of another processor: emulated.sh ARCH COMMAND...
# As root. Hides this machine's processors from them: onnxruntime crashes where an emulated arm64
# finds x86-64 there.
set -euo pipefail
cd "$(dirname "$0")/.."
arch=$1
shift
python3 -m tools.emulation "$arch"
exec unshare --mount bash -c 'mount -t tmpfs tmpfs /sys/devices/system/cpu && exec "$@"' bash "$@"
