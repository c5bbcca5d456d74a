#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spanprof --all: programs that are not Go's, by symbol or by module and offset, and never without
# being asked for.
# Time limit: 60
#
#   tests/e2e/all.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: all.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/e2e.sh

cat >"$work/burn.c" <<'END'
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

__attribute__((noinline)) void burn_some(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink = sink * 6364136223846793005ul + i;
}

__attribute__((noinline)) void burn_all(time_t until)
{
	while (time(NULL) < until)
		burn_some(1000000);
}

int main(int argc, char **argv)
{
	burn_all(time(NULL) + (argc > 1 ? atoi(argv[1]) : 1));
	return sink == 1;
}
END
cc -O0 -o "$work/burn" "$work/burn.c"
cp "$work/burn" "$work/burn-stripped"
strip "$work/burn-stripped"

# start NAME: sets target.
start()
{
	"$work/$1" 20 &
	target=$!
	child "$target"
}

# share EXPRESSION: percent of the samples whose stack has such a frame.
share()
{
	awk -v like="$1" '{ n = $NF; all += n } $0 ~ like { some += n }
		END { printf "%.1f\n", all ? 100 * some / all : 0 }' "$work/folded.folded"
}

echo '-- one that is named'
start burn
run 1 "$spanprof" -p "$target" -d 1
expect_text "$work/log" 'not a Go program (--all profiles others, too)' 'not asked for'
run 0 "$spanprof" -p "$target" --all -d 2 -o "$work/folded.folded"
expect_text "$work/log" 'attached to .*/burn (pid [0-9]*, service burn): not a Go program' 'attached'
expect_within 'in burn_some' "$(share 'burn_some')" 95 100
expect_within 'under burn_all and main' "$(share 'main;burn_all;burn_some')" 95 100
expect_text "$work/out" 'burn_some' 'report'
end "$target" || :

echo '-- stripped'
start burn-stripped
run 0 "$spanprof" -p "$target" --all -d 2 -o "$work/folded.folded"
expect_within 'by module and offset' "$(share 'burn-stripped[+]0x[0-9a-f]*')" 95 100
end "$target" || :

echo '-- of a command and of the host'
run 0 "$spanprof" --all -o "$work/folded.folded" -- sh -c "$work/burn 2"
expect_within 'in burn_some' "$(share 'burn_some')" 80 100
start burn
run 0 "$spanprof" --all --include '*/burn' -d 3 -o "$work/folded.folded"
expect_within 'in burn_some' "$(share 'burn_some')" 95 100
run 1 "$spanprof" --include '*/burn' -d 2
expect_text "$work/log" 'nothing was profiled: no running Go program' 'without being asked for'
end "$target" || :
verdict
