#!/usr/bin/env bash
# Checks all locks against advisories in a folder, without network: audit.sh OSV-SCANNER FOLDER.
# The folder holds ECOSYSTEM/all.zip with advisories in the format of OSV, for PyPI, npm, Go and Maven.
# The exit code is 1 where an advisory is about a locked version.
set -euo pipefail
scanner=$(realpath "$1")
advisories=${2:?name a folder of advisories: make audit ADVISORIES=DIRECTORY}
for ecosystem in PyPI npm Go Maven; do
  [[ -f $advisories/$ecosystem/all.zip ]] || { echo "no $advisories/$ecosystem/all.zip" >&2; exit 2; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$(realpath "$advisories")" "$work/osv-scalibr"

# Maven locks nothing: what it resolves is told as Gradle's lock has it.
mvn -q -B -ntp -f clients/java/pom.xml dependency:list -DincludeScope=runtime -DoutputFile="$work/resolved"
sed -nE 's/^ +([^ :]+:[^ :]+):jar(:[^ :]+)?:([^ :]+):(compile|runtime).*/\1:\3=runtimeClasspath/p' "$work/resolved" \
  > "$work/gradle.lockfile"
locks=(--lockfile "$work/gradle.lockfile")
while read -r file; do
  case $file in
  *.txt) locks+=(--lockfile "requirements.txt:$file") ;;
  *) locks+=(--lockfile "$file") ;;
  esac
done < <(git ls-files 'requirements/*.txt' '*package-lock.json' '*go.mod')
OSV_SCALIBR_LOCAL_DB_CACHE_DIRECTORY=$work "$scanner" scan source --offline "${locks[@]}"
