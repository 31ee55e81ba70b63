#!/usr/bin/env bash
# Fuzz one target for some seconds, and print a line: run.sh FOLDER SECONDS TARGET
# FOLDER/seeds/TARGET has its seeds, and gets the inputs that reached more code; FOLDER/logs the log,
# FOLDER/found the input that failed. libFuzzer says "Done" where no input failed; what Arrow's threads do
# while the process ends is no input's fault.
set -euo pipefail
folder=$1 seconds=$2 target=$3
mkdir -p "$folder/logs" "$folder/found"
log=$folder/logs/$target
if nice timeout --kill-after=10 "$((seconds + 600))" .venv-fuzz/bin/python tests/fuzz/one.py "$target" "$folder/seeds/$target" \
    -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=65536 \
    -artifact_prefix="$folder/found/$target-" > "$log" 2>&1 || grep -q '^Done ' "$log"; then
  printf '%-15s %s\n' "$target" "$(grep '^Done ' "$log")"
else
  tail -n 60 "$log"
  echo "fuzzing found a fault in $target: $folder/found" >&2
  exit 1
fi
