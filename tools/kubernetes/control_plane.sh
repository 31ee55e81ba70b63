#!/usr/bin/env bash
# Programs of a control plane: etcd, and of a Kubernetes minor kube-apiserver, kube-controller-manager,
# kube-proxy and kube-scheduler; control_plane.sh GO FOLDER MINOR. A second minor finds etcd in Go's build cache.
set -euo pipefail
go=$1 folder=$(realpath "$2") minor=$3
cd "$(dirname "$0")/control_plane"

export CGO_ENABLED=0
(cd etcd && "$go" build -trimpath -ldflags='-s -w' -o "$folder/etcd" go.etcd.io/etcd/server/v3)
cd "$minor"
version=$("$go" list -m -f '{{.Version}}' k8s.io/kubernetes)
# Without its version, the server calls itself v0.0.0, and charts refuse it.
package=k8s.io/component-base/version
flags="-X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=${minor#1.}"
"$go" build -trimpath -ldflags="-s -w $flags" -o "$folder" \
  k8s.io/kubernetes/cmd/kube-{apiserver,controller-manager,proxy,scheduler}
