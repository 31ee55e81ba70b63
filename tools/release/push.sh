#!/usr/bin/env bash
# Image and chart of a release into a registry, signed there, the image with the list of its parts:
# push.sh COSIGN KEYS FOLDER VERSION REGISTRY. PLAIN_HTTP=1 for a registry without TLS.
set -euo pipefail
cosign=$(realpath "$1") keys=$2 folder=$3 version=$4
registry=${5:?name a registry: make release-push REGISTRY=registry.example/onnxplain}
. tools/release/by_key.sh
plain=${PLAIN_HTTP:+1}
signing+=(${plain:+--allow-http-registry})

image=$folder/image/onnxplain-$version-$(uname -m)
skopeo copy --quiet ${plain:+--dest-tls-verify=false} --digestfile "$work/digest" \
  "oci-archive:$image.tar" "docker://$registry/onnxplain:$version"
pushed=$registry/onnxplain@$(< "$work/digest")
"$cosign" sign "${signing[@]}" "$pushed"
"$cosign" attest "${signing[@]}" --type cyclonedx --predicate "$image.cdx.json" "$pushed"

tools/kubernetes/bin/helm push ${plain:+--plain-http} \
  "$folder/chart/onnxplain-$version.tgz" "oci://$registry/charts" 2>&1 | tee "$work/pushed"
"$cosign" sign "${signing[@]}" "$registry/charts/onnxplain@$(sed -n 's/^Digest: //p' "$work/pushed")"
