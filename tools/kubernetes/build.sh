#!/usr/bin/env bash
# Programs that check the chart: helm, kustomize and conform, with the published definitions of the
# routes; build.sh GO FOLDER.
set -euo pipefail
go=$1 folder=$(realpath "$2")
cd "$(dirname "$0")"

GOBIN=$folder CGO_ENABLED=0 "$go" install -ldflags='-s -w' tool ./conform
mkdir -p "$folder/crds"
gateway=$("$go" list -m -f '{{.Dir}}' sigs.k8s.io/gateway-api)
cp --no-preserve=mode "$gateway"/config/crd/standard/*_{http,grpc}routes.yaml "$folder/crds"
