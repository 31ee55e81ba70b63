#!/usr/bin/env bash
# Provenance of all files of a release, signed: sign.sh COSIGN KEYS FOLDER. COSIGN_PASSWORD opens the key.
# `cosign verify-blob-attestation` then tells for each file whether it is one of them, byte for byte.
set -euo pipefail
cosign=$(realpath "$1") keys=$2 folder=$3
. tools/release/by_key.sh

cp "$keys/cosign.pub" "$keys/maven.pub.asc" "$folder"
python3 -m tools.release.provenance "$folder" > "$work/statement.json"
"$cosign" attest-blob "${signing[@]}" \
  --statement "$work/statement.json" --bundle "$folder/provenance.sigstore.json"
