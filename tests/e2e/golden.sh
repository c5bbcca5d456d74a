#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Raw samples of work that is hard to walk, recorded once of several Go versions (tests/golden), are
# unwound to the same stacks again. When they were recorded, each was held against the exact one.
#
#   tests/e2e/golden.sh BUILD_DIR [GO_VERSION...]
#   tests/e2e/golden.sh BUILD_DIR record GO_VERSION...    makes the files of those anew
#
# The recorded program is built again, to the bit: another tests/targets/torture wants new files.
set -eu
build=$(realpath "${1:?usage: golden.sh BUILD_DIR [record] [GO_VERSION...]}")
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
. tests/e2e/recorder/recorder.sh
golden=tests/golden seconds=3 kept=3
action=replay
[ "${2:-}" != record ] || {
	action=record
	shift
}
shift
[ "$(uname -m)" = x86_64 ] || {
	echo "golden.sh: for x86-64 only" >&2
	exit 0
}
[ $# -gt 0 ] || {
	set -- 1.21.13 1.26.8
	[ "${SPANPROF_TIER:-}" != full ] || {
		set --
		for file in "$golden"/go*.stacks; do
			file=${file##*/go}
			set -- "$@" "${file%.stacks}"
		done
	}
}

build_golden()
{
	# shellcheck disable=SC2086
	cc -std=gnu11 -D_GNU_SOURCE -O2 ${CFLAGS:-} -I src -I include -o "$work/golden" \
		tests/e2e/golden.c "$build/src/agent/libagent.a" "$build/src/capture/libcapture.a" \
		"$build/src/unwind/libunwind.a" "$build/src/symbolize/libsymbolize.a" \
		"$build/src/process/libprocess.a" "$build/src/gobinary/libgobinary.a" \
		"$build/src/base/libbase.a" -lbpf -lelf -lz -lZydis -lxxhash
}

# build_torture VERSION: the same file wherever it is built.
build_torture()
{
	(
		cd tests/targets/torture
		GOFLAGS='' GOAMD64=v1 GOEXPERIMENT='' CGO_ENABLED=0 GOTOOLCHAIN=go$1 \
			go build -trimpath -buildvcs=false -o "$work/torture" . 2>"$work/log"
	) || {
		cat "$work/log" >&2
		exit 77
	}
	go tool buildid "$work/torture" >"$work/id"
}

# take_samples: runs the program; its raw samples, and captures of the same interrupts.
take_samples()
{
	"$work/torture" -seconds "$seconds" >"$work/modes" &
	target=$!
	child "$target"
	within 10 grep -q ready "$work/modes"
	"$work/golden" record "$work/torture" "$target" "$work/raw" >"$work/out" &
	agent=$!
	child "$agent"
	within 20 grep -qs ready "$work/out"
	record_stacks "$agent" "$target"
	wait "$agent"
}

# stacks FILE: one frame a line, of equal ones how many.
stacks()
{
	"$work/golden" replay "$work/torture" "$1" | sed 's/","/"\n\t"/g' | uniq -c | sed 's/^ *1 //; s/^ *//'
}

# record VERSION
record()
{
	take_samples
	"$work/golden" replay "$work/torture" "$work/raw" >"$work/samples.jsonl"
	"$work/exact" -program "$work/torture" -modes "$work/modes" -captures "$work/captures" \
		-samples "$work/samples.jsonl" -keep "$kept" >"$work/right"
	"$work/golden" keep "$work/raw" "$work/kept" <"$work/right"
	mkdir -p "$golden"
	gzip -9n <"$work/kept" >"$golden/go$1.samples.gz"
	{
		cat "$work/id"
		stacks "$work/kept"
	} >"$golden/go$1.stacks"
	echo "go$1: $(wc -l <"$work/right") samples recorded"
}

# replay VERSION
replay()
{
	[ "$(head -n 1 "$golden/go$1.stacks")" = "$(cat "$work/id")" ] || {
		fail "go$1: tests/targets/torture is another one than was recorded: record it anew"
		return
	}
	gunzip <"$golden/go$1.samples.gz" >"$work/kept"
	stacks "$work/kept" >"$work/got"
	tail -n +2 "$golden/go$1.stacks" >"$work/want"
	if cmp -s "$work/want" "$work/got"; then
		echo "go$1: $(grep -c time_ns "$work/got") stacks as they were"
	else
		diff -U 3 "$work/want" "$work/got" | head -n 40 >&2 || :
		fail "go$1: other stacks than were recorded"
	fi
}

build_golden
[ $action = replay ] || {
	build_recorder
	go_build tests/e2e/exact "$work/exact"
}
for version; do
	build_torture "$version"
	if [ $action = record ]; then record "$version"; else replay "$version"; fi
done
verdict
