#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Names, lines, inlined calls and stack sizes of Go programs against what the Go runtime says of
# itself and, for stack sizes of the whole text, against .debug_frame.
#
#   tests/e2e/symbols.sh BUILD_DIR [-a] [GO_VERSION...]      -a: all kinds of builds, all versions
#
# Time limit: 600
set -eu
build=$(realpath "$1")
shift
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh

# One from before the tables moved is among them.
versions="local 1.21.13" all_kinds=
[ "${1:-}" != -a ] || {
	all_kinds=yes
	shift
}
[ -z "$all_kinds" ] && [ "${SPANPROF_TIER:-}" != full ] ||
	versions="$versions 1.18.10 1.20.14 1.22.12 1.23.12 1.24.13 1.25.0 1.27.3"
[ $# = 0 ] || versions=$*

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck disable=SC2086 # options, one or none
cc -std=gnu11 -D_GNU_SOURCE -O2 ${CFLAGS:-} -I src -o "$scratch/check" tests/e2e/symbols_check.c \
	"$build/src/gobinary/libgobinary.a" "$build/src/base/libbase.a" -lelf -lZydis -lxxhash
failed=0

# build VERSION FILE GO_BUILD_OPTION...
build()
{
	toolchain=go$1 file=$2
	shift 2
	[ "$toolchain" != golocal ] || toolchain=local
	(cd tests/targets/symtruth && GOFLAGS='' GOTOOLCHAIN=$toolchain go build -buildvcs=false -o "$file" "$@" .)
}

# check NAME FILE [EXTRA_TRUTH]
check()
{
	"$2" >"$scratch/truth"
	[ $# = 2 ] || cat "$3" >>"$scratch/truth"
	printf '%-28s ' "$1"
	"$scratch/check" "$2" <"$scratch/truth" || failed=$((failed + 1))
}

# The rows of every function's table; its CFA is the stack size plus the return address.
stack_sizes()
{
	readelf --debug-dump=frames-interp "$1" 2>/dev/null |
		awk '$1 ~ /^[0-9a-f]+$/ && length($1) == 16 && $1 !~ /^0+$/ && $2 ~ /^rsp\+[0-9]+$/ {
			print "C\t" $1 "\t" substr($2, 5) }'
}

# Without e_shoff and e_shnum, as containerd was once shipped.
drop_sections()
{
	dd if=/dev/zero of="$1" conv=notrunc bs=1 seek=40 count=8 status=none
	dd if=/dev/zero of="$1" conv=notrunc bs=1 seek=60 count=4 status=none
}

# The checker must see one wrong line of each kind.
check_the_checker()
{
	"$1" | cat - "$2" >"$scratch/truth"
	for kind in F S C; do
		awk -F '\t' -v OFS='\t' -v kind=$kind '
			$1 == kind && ++n == 10 { $NF = $NF + 8 } { print }' \
			<"$scratch/truth" >"$scratch/wrong"
		! "$scratch/check" "$1" <"$scratch/wrong" >/dev/null 2>&1 || {
			echo "symbols_check does not see a wrong line $kind" >&2
			failed=$((failed + 1))
		}
	done
}

for version in $versions; do
	build "$version" "$scratch/default" 2>"$scratch/log" || {
		cat "$scratch/log" >&2
		! grep -q 'toolchain not available\|download' "$scratch/log" || {
			echo "could not fetch Go $version" >&2
			exit 77
		}
		exit 1
	}
	stack_sizes "$scratch/default" >"$scratch/sizes"
	check "$version default" "$scratch/default" "$scratch/sizes"
	[ "$version" != local ] || check_the_checker "$scratch/default" "$scratch/sizes"
	build "$version" "$scratch/stripped" -ldflags='-s -w'
	check "$version stripped" "$scratch/stripped"
	build "$version" "$scratch/pie" -buildmode=pie -ldflags='-s -w'
	check "$version pie" "$scratch/pie"
	build "$version" "$scratch/external" -tags c -buildmode=pie -ldflags='-s -w -linkmode=external'
	drop_sections "$scratch/external"
	check "$version pie external" "$scratch/external"
	[ "$all_kinds" ] || continue
	build "$version" "$scratch/cgo" -tags c -trimpath -ldflags=-linkmode=external
	check "$version cgo trimpath" "$scratch/cgo"
	build "$version" "$scratch/static" -tags c -ldflags='-s -w -linkmode=external -extldflags=-static'
	check "$version cgo static" "$scratch/static"
	build "$version" "$scratch/plain" -gcflags='all=-N -l'
	check "$version -N -l" "$scratch/plain"
	build "$version" "$scratch/race" -race
	check "$version race" "$scratch/race"
done
[ "$failed" = 0 ]
