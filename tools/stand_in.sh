#!/usr/bin/env bash
# Stand-in for the base of the image, for tests where no registry can be reached: stand_in.sh NAME.
# As root; BUILDAH as for tools/image.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1
read -ra buildah <<< "${BUILDAH:-buildah}"

folder=build/containers/root
trap 'rm -rf --one-file-system "$folder"' EXIT
tools/cached_build.sh "$folder" tools/debian_root.sh -- tools/debian_root.sh "$folder"
container=$("${buildah[@]}" from scratch)
"${buildah[@]}" add --quiet "$container" "$folder" / > /dev/null
"${buildah[@]}" commit --quiet --rm "$container" "$name" > /dev/null
