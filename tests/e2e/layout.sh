#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Offsets, probe sites, interface tables and the places of g and of all goroutines in Go programs
# with the SDK, as gobinary reads them from the executable, against DWARF, the symbol table, the
# bytes, reflection and the running program.
#
#   tests/e2e/layout.sh BUILD_DIR
#
# Time limit: 1500
set -eu
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh

# Go and SDK versions: every Go, and the oldest and newest SDK that layouts differ between.
pairs=
[ "${SPANPROF_TIER:-}" != full ] || pairs="1.27.3:1.47.0 1.27.3:1.0.1 1.26.8:1.19.0 1.25.5:1.46.0
	1.24.11:1.38.0 1.23.12:1.35.0 1.22.12:1.32.0 1.21.13:1.28.0 1.21.13:1.20.0 1.20.14:1.17.0
	1.19.13:1.11.2 1.18.10:1.7.0 1.18.10:1.4.1 1.18.10:1.3.0 1.18.10:1.0.1"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
zydis=
[ "$(uname -m)" != x86_64 ] || zydis=-lZydis
# shellcheck disable=SC2086 # options, one or none
cc -std=gnu11 -D_GNU_SOURCE -O2 ${CFLAGS:-} -I src -o "$scratch/print" tests/e2e/gobinary_print.c \
	"$build/src/gobinary/libgobinary.a" "$build/src/base/libbase.a" $zydis -lxxhash
cp -R tests/targets/layout "$scratch/module"
GOFLAGS=-buildvcs=false
export GOFLAGS
(cd "$scratch/module" && go build -o "$scratch/truth" ./truth)
all_sites=runtime_trace,new_recording,with_value,newproc_runqput,start_ret
failed=0

# build FILE GO_BUILD_OPTION...
build()
{
	file=$1
	shift
	(cd "$scratch/module" && go build -o "$scratch/$file" "$@" .)
}

wrong()
{
	echo "$*" >&2
	failed=$((failed + 1))
}

# expect KEY=VALUE...: lines that gobinary_print has to have written
expect()
{
	for line in "$@"; do
		grep -qx "$line" "$scratch/said" || wrong "not said: $line"
	done
}

# check NAME FILE TWIN SITES KEY=VALUE...
check()
{
	name=$1 file=$scratch/$2 twin=$scratch/$3 sites=$4
	shift 4
	"$scratch/print" "$file" 5 >"$scratch/said" || {
		wrong "$name: not read"
		return
	}
	printf '%-26s ' "$name"
	"$scratch/truth" -twin "$twin" -need "$sites" "$file" <"$scratch/said" ||
		wrong "$name: offsets or sites"
	# The program's own reflection, and the word where g is said to be.
	"$file" | sort >"$scratch/reflected"
	grep '^span\.\|^itab\.\|^resource\.' "$scratch/said" | sort | diff - "$scratch/reflected" >&2 ||
		wrong "$name: span offsets, interface tables or the way to the resource"
	"$file" -tls "$(sed -n 's/^tls\.offset=//p' "$scratch/said")" \
		-allgs "$(sed -n 's/^allgs=//p' "$scratch/said")" ||
		wrong "$name: place of g or of all goroutines"
	# The built-in tables, for files whose types cannot be read.
	sed -n 's/^table\.\(runtime\|span\)/\1/p' "$scratch/said" >"$scratch/tables"
	grep '^runtime\.\|^span\.[a-z_]*=[0-9]*$' "$scratch/said" | diff "$scratch/tables" - >&2 ||
		wrong "$name: table"
	expect source.runtime=rtypes source.span=rtypes file.sdk=1 "$@"
	expect table.source.runtime=table table.source.span=table
	sed -n 's/^cost\.open_ms=/                           opened in ms: /p' "$scratch/said"
}

# The truth must see one wrong line of each kind.
check_the_checker()
{
	"$scratch/print" "$scratch/default" >"$scratch/said"
	for edit in 's/^runtime\.g_goid=.*/runtime.g_goid=8/' 's/^span\.name=.*/span.name=8/' \
		's/^\(range\.goexit=0x\)/\11/' 's/^file\.cgo=1/file.cgo=0/' \
		'/^probe\.runtime_trace=/d' 's/^\(probe\.with_value=.* \)\(.*\) /\10x1000 /' \
		's/^\(file\.text=0x\)/\11/' 's/^\(allgs=0x\)/\11/' \
		's/^\(itab\.span=0x\)/\11/' '/^itab\.context=/d' \
		's/^\(reason\.3=\)/\1x/' '/^reason\.4=/d' \
		's/^\(probe\.start_ret=.* \)\(.*\) /\10x1000 /'; do
		sed "$edit" "$scratch/said" >"$scratch/edited"
		! cmp -s "$scratch/said" "$scratch/edited" || wrong "no such line: $edit"
		! "$scratch/truth" -need $all_sites "$scratch/default" <"$scratch/edited" \
			>/dev/null 2>&1 || wrong "truth does not see: $edit"
	done
}

# Another Go and SDK version in the same module.
check_pair()
{
	go=${1%:*} sdk=${1#*:}
	(
		cd "$scratch/module"
		rm -rf truth go.sum
		printf 'module example.com/spanprof/layout\n\ngo %s\n' "${go%.*}" >go.mod
		GOFLAGS='-buildvcs=false -mod=mod' GOTOOLCHAIN=go$go
		export GOFLAGS GOTOOLCHAIN
		go get "go.opentelemetry.io/otel/sdk@v$sdk" "go.opentelemetry.io/otel/trace@v$sdk" &&
			go mod tidy
	) >"$scratch/log" 2>&1 || {
		cat "$scratch/log" >&2
		echo "could not fetch Go $go or SDK $sdk" >&2
		exit 77
	}
	GOTOOLCHAIN=go$go
	export GOTOOLCHAIN
	build pair
	check "$go sdk $sdk" pair pair $all_sites "build.go=go$go"
	build pair -buildmode=pie
	check "$go sdk $sdk pie" pair pair $all_sites file.pie=1
	build pair -buildmode=pie -ldflags=-linkmode=external
	check "$go sdk $sdk external" pair pair $all_sites file.pie=1
	unset GOTOOLCHAIN
}

build default || {
	echo "could not fetch the modules of tests/targets/layout" >&2
	exit 77
}
check default default default $all_sites file.stripped=0 file.pie=0 build.sdk=v1.47.0
check_the_checker
build stripped -ldflags='-s -w'
check stripped stripped default $all_sites file.stripped=1 file.pie=0
build pie -buildmode=pie
build stripped_pie -buildmode=pie -ldflags='-s -w'
check 'stripped pie' stripped_pie pie $all_sites file.stripped=1 file.pie=1
[ "${SPANPROF_TIER:-}" = full ] || {
	[ "$failed" = 0 ]
	exit
}
build exported -tags exported -buildmode=pie
readelf -rW "$scratch/exported" | grep -q 'TPOFF\|TLS_TPREL' || wrong 'no relocation for g'
check 'pie with plugins' exported exported $all_sites file.pie=1
build race -race
check race race race $all_sites file.cgo=1
# There Start calls trace.ContextWithSpan, which is inlined elsewhere.
build plain -gcflags='all=-N -l'
check 'not optimised' plain plain runtime_trace,new_recording,newproc_runqput,start_ret
for pair in $pairs; do check_pair "$pair"; done
[ "$failed" = 0 ]
