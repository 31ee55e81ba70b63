#!/usr/bin/env bash
# Stand-ins for the bases of the image, for tests where no registry can be reached: stand_in.sh NAME
# makes NAME, and NAME-build, which has a C compiler.
# As root; BUILDAH as for tools/image.sh, ARCH as for tools/debian_root.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1
read -ra buildah <<< "${BUILDAH:-buildah}"

stand_in() { # IMAGE FOLDER [PACKAGE of Debian...]
  local image=$1 folder=$2 container
  tools/cached_build.sh "$folder" tools/debian_root.sh -- tools/debian_root.sh "${@:2}"
  container=$("${buildah[@]}" from scratch)
  [[ -z "${ARCH:-}" ]] || "${buildah[@]}" config --arch "$ARCH" "$container"
  "${buildah[@]}" add --quiet "$container" "$folder" / > /dev/null
  "${buildah[@]}" commit --quiet --rm "$container" "$image" > /dev/null
}

folder=build/containers/root${ARCH:+-$ARCH}
trap 'rm -rf --one-file-system "$folder" "$folder-build"' EXIT
stand_in "$name" "$folder"
stand_in "$name-build" "$folder-build" g++ python3-dev
