#!/usr/bin/env bash
# Puts a Go that is new enough into .tools/go, by one that is too old: toolchains are modules, which
# any Go can download, and check against Go's own sums.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=1.26.11
platform=$(go env GOOS)-$(go env GOARCH)
module=golang.org/toolchain@v0.0.1-go$version.$platform
found=$(cd "$(mktemp -d)" && go mod download -json "$module" | sed -n 's/^\t*"Dir": "\(.*\)",$/\1/p')
rm -rf .tools/go
mkdir -p .tools
cp -r "$found" .tools/go
# Modules keep no permissions.
chmod -R u+w .tools/go
chmod +x .tools/go/bin/* .tools/go/pkg/tool/*/*
.tools/go/bin/go version
