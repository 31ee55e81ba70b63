# Sourced by what signs: $signing are the options of cosign for a folder of keys, $work a folder that is
# removed at the end. By the key alone: no public log, no time stamps of others, no network.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cosign" signing-config create --out "$work/signing.json"
"$cosign" trusted-root create --out "$work/root.json"
signing=(--yes --key "$keys/cosign.key" --signing-config "$work/signing.json" --trusted-root "$work/root.json")
export COSIGN_PASSWORD=${COSIGN_PASSWORD-}
