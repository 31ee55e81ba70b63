#!/usr/bin/env bash
# Root file system of Debian with its own Python 3.11, by debootstrap, as root: debian_root.sh FOLDER [PACKAGE...]
# ARCH names another processor, as Debian does, which this machine emulates.
set -euo pipefail
folder=$1
shift
packages=$(IFS=,; echo "ca-certificates,python3,python3-venv${*:+,$*}")
command -v debootstrap > /dev/null || { echo 'debootstrap not found: apt-get install debootstrap' >&2; exit 1; }

debootstrap ${ARCH:+--arch="$ARCH"} --variant=minbase --include="$packages" bookworm "$folder" > /dev/null
rm -rf "$folder"/var/cache/apt/archives/*.deb "$folder"/var/lib/apt/lists/* "$folder"/var/log/*
# Others than its owner may enter.
chmod 755 "$folder"
