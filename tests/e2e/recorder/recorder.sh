# SPDX-License-Identifier: Apache-2.0
# Compiles and runs the recorder; sourced from the top of the tree, after scripts/lib/e2e.sh.
# shellcheck shell=sh disable=SC2154

# build_recorder: it samples by itself, and at each sample goes on as spanprof's sampler.
build_recorder()
{
	clang=$(command -v clang-14 || command -v clang)
	"$clang" -O2 -g -target bpf -mcpu=v2 -D__TARGET_ARCH_x86 -Wall \
		-Wno-gnu-variable-sized-type-not-at-end -I tests/e2e/recorder \
		-isystem "/usr/include/$(cc -print-multiarch)" \
		-c tests/e2e/recorder/stack_capture.bpf.c -o "$work/stack_capture.bpf.o"
	PATH=$PATH:/usr/sbin bpftool gen skeleton "$work/stack_capture.bpf.o" \
		name stack_capture_bpf >"$work/stack_capture.skel.h"
	cc -std=gnu11 -O2 -I tests/e2e/recorder -I "$work" -o "$work/recorder" \
		tests/e2e/recorder/recorder.c -lbpf -lelf -lz
}

# record_stacks AGENT TARGET: lets $work/torture begin, which waits as TARGET, and samples it until it
# ends, into $work/captures. Needs $work/exact.
record_stacks()
{
	offsets=$("$work/exact" -program "$work/torture" -offsets)
	# shellcheck disable=SC2086
	"$work/recorder" "$1" "$2" $offsets 199 "$work/captures" >"$work/recorded" &
	recorder=$!
	child "$recorder"
	within 10 grep -qs ready "$work/recorded" || fail 'the recorder does not start'
	kill -USR1 "$2"
	wait "$2" || fail 'torture failed'
	end "$recorder" || fail 'the recorder failed'
}
