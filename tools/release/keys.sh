#!/usr/bin/env bash
# Throw-away keys for a rehearsal of a release, without passphrases: keys.sh COSIGN FOLDER.
set -euo pipefail
cosign=$(realpath "$1") folder=$2
umask 077
mkdir "$folder"
cd "$folder"
COSIGN_PASSWORD='' "$cosign" generate-key-pair 2> /dev/null
ring=$(mktemp -d)
trap 'gpgconf --homedir "$ring" --kill all; rm -rf "$ring"' EXIT
gpg=(gpg --homedir "$ring" --batch --quiet)
"${gpg[@]}" --passphrase '' --quick-gen-key 'Rehearsal of a release <rehearsal@example.org>' ed25519 sign 1d
"${gpg[@]}" --armor --export-secret-keys > maven.asc
"${gpg[@]}" --armor --export > maven.pub.asc
