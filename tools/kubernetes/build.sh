#!/usr/bin/env bash
# Programs that check the chart: helm, kustomize and conform, with the published definitions of the
# routes and of KEDA's ScaledObject; build.sh GO FOLDER.
set -euo pipefail
go=$1 folder=$(realpath "$2")
cd "$(dirname "$0")"

GOBIN=$folder CGO_ENABLED=0 "$go" install -ldflags='-s -w' tool ./conform
mkdir -p "$folder/crds"
gateway=$("$go" list -m -f '{{.Dir}}' sigs.k8s.io/gateway-api)
cp --no-preserve=mode "$gateway"/config/crd/standard/*_{http,grpc}routes.yaml "$folder/crds"
cd keda
"$go" mod download
keda=$("$go" list -m -f '{{.Dir}}' github.com/kedacore/keda/v2)
cp --no-preserve=mode "$keda"/config/crd/bases/keda.sh_scaledobjects.yaml "$folder/crds"
