#!/usr/bin/env bash
# Build cache for tools that take minutes to build: cached_build.sh FOLDER INPUT ... -- COMMAND ...
# Runs COMMAND, which fills FOLDER, unless a build from equal INPUT files lies in
# $XDG_CACHE_HOME/onnxplain; then copies that. A version is therefore built once per machine and user:
# who asks while another builds waits for it.
set -euo pipefail
folder=$1
shift
inputs=()
while [[ $1 != -- ]]; do inputs+=("$1"); shift; done
shift

key=$({ cat -- "${inputs[@]}"; uname -m; } | sha256sum | cut -c1-16)
kept=${XDG_CACHE_HOME:-$HOME/.cache}/onnxplain/$(basename "$(dirname "$folder")")-$(basename "$folder")-$key
mkdir -p "$(dirname "$kept")"
exec 9> "$kept.lock"
flock 9
rm -rf "$folder"
mkdir -p "$folder"
if [[ -d $kept ]]; then
  cp -a "$kept/." "$folder"
  exit
fi
"$@" 9>&-
# Renamed as a whole, so that a build which is interrupted leaves no half.
partial=$(mktemp -d "$kept.XXXXXX")
cp -a "$folder/." "$partial"
mv -T "$partial" "$kept"
