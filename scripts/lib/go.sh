# SPDX-License-Identifier: Apache-2.0
# Puts a Go toolchain that can build the test programs on PATH; sourced from the top of the tree.
# shellcheck shell=sh
#
# Debian 12's Go is too old for today's OpenTelemetry modules, but it can fetch modules, and every
# Go release is one: golang.org/toolchain, verified by the checksum database like any other.
. scripts/lib/packages.sh

go_needed=1.26 # the "go" lines under tests/
go_fetched=1.26.8

# go_fits GO: whether that command is new enough, as it is.
go_fits()
{
	go_version=$(GOTOOLCHAIN=local "$1" version 2>/dev/null) || return 1
	printf '%s\n' "$go_version" | awk -v needed="$go_needed" '{
		sub(/^go/, "", $3); split($3, have, /[.a-z-]/); split(needed, want, ".")
		exit !(have[1] > want[1] || have[1] == want[1] && have[2] + 0 >= want[2] + 0) }'
}

# fetch_go DIR: the toolchain as a module, made executable: module files carry no modes, and the
# go.mod files of a module's inner folders are kept under another name.
fetch_go()
{
	command -v go >/dev/null || need_packages golang-go ca-certificates
	go_module=golang.org/toolchain@v0.0.1-go$go_fetched.linux-$(dpkg --print-architecture)
	echo "fetching Go $go_fetched" >&2
	go_scratch=$(mktemp -d)
	# Outside any module; the flags of the caller are for the newer Go.
	(cd "$go_scratch" && GOFLAGS='' GO111MODULE=on GOTOOLCHAIN=local \
		go mod download "$go_module") >&2 || {
		rm -rf "$go_scratch"
		echo "could not fetch Go $go_fetched" >&2
		return 77
	}
	rm -rf "$go_scratch" "$1.new"
	mkdir -p "$1.new"
	cp -R --no-preserve=mode,ownership "$(GOFLAGS='' go env GOMODCACHE)/$go_module/." "$1.new"
	chmod +x "$1.new"/bin/* "$1.new"/pkg/tool/*/*
	find "$1.new" -name _go.mod -execdir mv _go.mod go.mod ';'
	rm -rf "$1"
	mv "$1.new" "$1"
}

# need_go: exits 77 when no toolchain could be fetched.
need_go()
{
	go_fits go && return 0
	go_cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/spanprof/go$go_fetched
	for go_root in /usr/local/go "$go_cache"; do
		go_fits "$go_root/bin/go" && break
	done
	go_fits "$go_root/bin/go" || {
		fetch_go "$go_cache" || exit $?
		go_root=$go_cache
	}
	PATH=$go_root/bin:$PATH
	export PATH
}

# module_with_sdk SDK MINOR SOURCE DIR: a copy of a test program's module, without its judge, with
# that OpenTelemetry SDK and "go MINOR" in its go.mod. Go to be used is the one of GOTOOLCHAIN.
module_with_sdk()
{
	rm -rf "$4"
	cp -R "$3" "$4"
	(
		cd "$4" || exit
		rm -rf go.sum judge
		printf '%s\n\ngo %s\n' "$(head -n 1 go.mod)" "$2" >go.mod.new
		mv go.mod.new go.mod
		go version && go get "go.opentelemetry.io/otel@v$1" \
			"go.opentelemetry.io/otel/sdk@v$1" "go.opentelemetry.io/otel/trace@v$1" &&
			go mod tidy
	)
}
need_go
