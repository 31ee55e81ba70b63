#!/bin/sh
# Ends well where the program named is Go, new enough to build the client and its tools.
go=${1:-go}
if ! command -v "$go" >/dev/null; then
	echo 'go not found: apt-get install golang-go, and where that is older than 1.21 (Debian 12),' \
		'tools/go/toolchain.sh after it' >&2
	exit 1
fi
# From 1.21 on, Go gets by itself the version that go.mod asks for.
case $("$go" env GOVERSION) in
go1.[0-9] | go1.[0-9].* | go1.1[0-9] | go1.1[0-9].* | go1.20 | go1.20.*)
	echo "$("$go" env GOVERSION) is too old: run tools/go/toolchain.sh, which puts a newer one into .tools/go" >&2
	exit 1
	;;
esac
