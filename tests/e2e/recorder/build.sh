# SPDX-License-Identifier: Apache-2.0
# Compiles the recorder; sourced from the top of the tree.
# shellcheck shell=sh

# build_recorder DIR: it samples by itself, and at each sample goes on as spanprof's sampler.
build_recorder()
{
	clang=$(command -v clang-14 || command -v clang)
	"$clang" -O2 -g -target bpf -mcpu=v2 -D__TARGET_ARCH_x86 -Wall \
		-Wno-gnu-variable-sized-type-not-at-end -I tests/e2e/recorder \
		-isystem "/usr/include/$(cc -print-multiarch)" \
		-c tests/e2e/recorder/stack_capture.bpf.c -o "$1/stack_capture.bpf.o"
	PATH=$PATH:/usr/sbin bpftool gen skeleton "$1/stack_capture.bpf.o" \
		name stack_capture_bpf >"$1/stack_capture.skel.h"
	cc -std=gnu11 -O2 -I tests/e2e/recorder -I "$1" -o "$1/recorder" \
		tests/e2e/recorder/recorder.c -lbpf -lelf -lz
}
