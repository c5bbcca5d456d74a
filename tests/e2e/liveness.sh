#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which words of Go stack frames hold live pointers: every call of a program, frames of parked
# goroutines and variables of known fate, against what Go's own garbage collector is told.
#
#   tests/e2e/liveness.sh BUILD_DIR [GO_VERSION...]
#
# Time limit: 600
set -eu
build=$(realpath "$1")
shift
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh

versions=local
# Those between which the runtime's interfaces to its maps differ.
[ "${SPANPROF_TIER:-}" != full ] || versions="local 1.18.10 1.20.14 1.21.13 1.24.13 1.26.8 1.27.3"
[ $# = 0 ] || versions=$*

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck disable=SC2086 # options, one or none
cc -std=gnu11 -D_GNU_SOURCE -O2 ${CFLAGS:-} -I src -o "$scratch/check" tests/e2e/liveness_check.c \
	"$build/src/gobinary/libgobinary.a" "$build/src/base/libbase.a" -lelf -lZydis -lxxhash
failed=0

# build VERSION FILE LDFLAGS GO_BUILD_OPTION...
build()
{
	toolchain=go$1 file=$2 linker=$3
	shift 3
	[ "$toolchain" != golocal ] || toolchain=local
	# From 1.23 on the linker must be told to hand out the runtime's functions.
	case $(GOTOOLCHAIN=$toolchain go env GOVERSION) in
	go1.1?* | go1.2[012]*) ;;
	*) linker="$linker -checklinkname=0" ;;
	esac
	(cd tests/targets/liveness &&
		GOFLAGS='' GOTOOLCHAIN=$toolchain go build -buildvcs=false -ldflags="$linker" -o "$file" "$@" .)
}

# check NAME FILE [EMULATOR]
check()
{
	${3:-} "$2" >"$scratch/truth"
	printf '%-18s ' "$1"
	"$scratch/check" "$2" <"$scratch/truth" || failed=$((failed + 1))
}

# One wrong line of each kind must be seen: a word that lives no more or is elsewhere.
check_the_checker()
{
	for kind in M R V; do
		awk -F '\t' -v OFS='\t' -v kind=$kind '
			$1 != kind || done { print; next }
			kind == "V" { $2 = $2 == "live" ? "dead" : "live"; done = 1 }
			kind != "V" && NF > 7 { NF--; done = 1 }
			{ print }' <"$scratch/truth" >"$scratch/wrong"
		! cmp -s "$scratch/truth" "$scratch/wrong" || exit 1
		! "$scratch/check" "$1" <"$scratch/wrong" >/dev/null 2>&1 || {
			echo "liveness_check does not see a wrong line $kind" >&2
			failed=$((failed + 1))
		}
	done
}

for version in $versions; do
	build "$version" "$scratch/default" '' 2>"$scratch/log" || {
		cat "$scratch/log" >&2
		! grep -q 'toolchain not available\|download' "$scratch/log" || {
			echo "could not fetch Go $version" >&2
			exit 77
		}
		exit 1
	}
	check "$version default" "$scratch/default"
	[ "$version" != local ] || check_the_checker "$scratch/default"
	build "$version" "$scratch/pie" '-s -w' -buildmode=pie
	check "$version pie" "$scratch/pie"
	# The other machine's frames, where this one can run its programs.
	[ "$(uname -m)" = x86_64 ] || continue
	emulator=$(command -v qemu-aarch64-static) || continue
	GOARCH=arm64 CGO_ENABLED=0 build "$version" "$scratch/arm64" ''
	check "$version arm64" "$scratch/arm64" "$emulator"
done
[ "$failed" = 0 ]
