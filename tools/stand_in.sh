#!/usr/bin/env bash
# Makes a stand-in for the base of the image, for tests where no registry can be reached: Debian
# with its own Python 3.11. As root: tools/stand_in.sh NAME; BUILDAH as for tools/image.sh.
set -euo pipefail
name=$1
read -ra buildah <<< "${BUILDAH:-buildah}"
command -v debootstrap > /dev/null || { echo 'debootstrap not found: apt-get install debootstrap' >&2; exit 1; }

folder=$(mktemp -d)
trap 'rm -rf --one-file-system "$folder"' EXIT
debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv bookworm "$folder" > /dev/null
rm -rf "$folder"/var/cache/apt/archives/*.deb "$folder"/var/lib/apt/lists/* "$folder"/var/log/*
# A root of its own, which others than its owner may enter.
chmod 755 "$folder"
container=$("${buildah[@]}" from scratch)
"${buildah[@]}" add --quiet "$container" "$folder" / > /dev/null
"${buildah[@]}" commit --quiet --rm "$container" "$name" > /dev/null
