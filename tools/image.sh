#!/usr/bin/env bash
# Builds the image without Docker: tools/image.sh NAME FOLDER [ARGUMENT of `buildah build`...]
# The list of its parts (CycloneDX) is put into the folder. BASE_IMAGE names another base, BUILD_IMAGE
# the same with a C compiler, SOURCE_DATE_EPOCH the time of its files, BUILDAH the command with options of its own. Who is not
# root runs it under `buildah unshare`.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1 folder=$2
shift 2
read -ra buildah <<< "${BUILDAH:-buildah}"

epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || echo 315532800)}
revision=$(git rev-parse HEAD 2> /dev/null || true)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
arguments=(
  --isolation chroot --format docker --timestamp "$epoch" --tag "$name"
  --build-arg "SOURCE_DATE_EPOCH=$epoch" --build-arg "VERSION=$version" --build-arg "REVISION=$revision"
)
for base in BASE_IMAGE BUILD_IMAGE; do
  [[ -z "${!base:-}" ]] || arguments+=(--build-arg "$base=${!base}")
done
# How this machine reaches packages; files and folders are only lent to the build.
for setting in PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST PIP_DEFAULT_TIMEOUT PIP_CERT PIP_FIND_LINKS; do
  value=${!setting:-}
  if [[ -n "$value" && -e "$value" ]]; then
    arguments+=(--volume "$(realpath "$value"):/run/lent/$setting:ro")
    value=/run/lent/$setting
  fi
  [[ -z "$value" ]] || arguments+=(--build-arg "$setting=$value")
done
"${buildah[@]}" build "${arguments[@]}" "$@" .

mkdir -p "$folder"
container=$("${buildah[@]}" from --pull-never "$name")
trap '"${buildah[@]}" rm "$container" > /dev/null' EXIT
cp "$("${buildah[@]}" mount "$container")/opt/onnxplain/sbom.cdx.json" "$folder/sbom.cdx.json"
