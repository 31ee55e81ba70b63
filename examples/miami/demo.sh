#!/usr/bin/env bash
# Starts the service, explains the model of Miami's house prices over gRPC, prints the findings
# and writes them as an HTML report. Needs the environment that `make demo` makes.
set -euo pipefail
cd "$(dirname "$0")/../.."

onnxplain=.venv/bin/onnxplain
here=examples/miami
out=.demo
mkdir -p "$out"
gunzip -c "$here/miami_housing.csv.gz" >"$out/miami_housing.csv"

: >"$out/server.log"
# Ports 0: free ones, which the log tells.
"$onnxplain" serve --rest-port 0 --grpc-port 0 --metrics-port 0 2>"$out/server.log" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" || true' EXIT
until endpoint=$(sed -n 's/.*gRPC on \([^ ]*\).*/\1/p' "$out/server.log") && [ -n "$endpoint" ]; do
	kill -0 "$server" || { cat "$out/server.log" >&2; exit 1; }
	sleep 0.1
done
echo "The service listens on $endpoint."

explain() {
	"$onnxplain" explain "$here/miami.onnx" "$out/miami_housing.csv" \
		--request "$here/request.json" --endpoint "$endpoint" "$@"
}
explain --output table
# The same question again, for the whole answer.
explain --output-file "$out/answer.json"
"$onnxplain" plot "$out/answer.json" --format html --output-file "$out/report.html"
echo "The answer as JSON: $out/answer.json. The report, with plots: $out/report.html"
echo "The same on a page, in a browser: $onnxplain ui $here/miami.onnx $out/miami_housing.csv"
