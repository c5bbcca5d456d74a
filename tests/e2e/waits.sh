#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where spans wait: a program whose spans wait in known ways for known times, held against its own
# clock and against the runtime's execution trace; with too little CPU, the sum at least.
# Tier: full
# Time limit: 300
#
#   tests/e2e/waits.sh BUILD_DIR [SECONDS]
set -eu
spanprof=$(realpath "${1:?usage: waits.sh BUILD_DIR [SECONDS]}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
seconds=${2:-20}

go_build tests/e2e/verify "$work/verify"
go_build tests/targets/waits "$work/waits"

# profiled COMMAND FLAG...: from before its first span until after its last one.
profiled()
{
	run 0 "$spanprof" --wait 99 -d $((seconds + 30)) -o "$work/waits.pb.gz" --verbose -- \
		"$@" -truth "$work/truth.jsonl" -seconds "$seconds"
	grep 'waits:' "$work/log" || fail 'no figures of looks'
}

# judge WHAT FLAG...
judge()
{
	what=$1
	shift
	"$work/verify" "$what" -truth "$work/truth.jsonl" -pprof "$work/waits.pb.gz" "$@" ||
		fail "$what: figures differ"
}

# A control group of half a CPU, in $group.
make_group()
{
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		group=/sys/fs/cgroup/spanprof-test-$$
		echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
		mkdir "$group"
		echo '50000 100000' >"$group/cpu.max"
	else
		group=/sys/fs/cgroup/cpu/spanprof-test-$$
		mkdir "$group"
		echo 50000 >"$group/cpu.cfs_quota_us"
	fi
}

echo '-- ten ways to wait'
profiled "$work/waits"
judge waits

# How much of a listed span is accounted for agrees with what is said to be uncertain of it.
echo '-- the sum of a span'
cp "$work/out" "$work/report"
expect_text "$work/report" '^    [0-9.]* s = .* s waiting (.* in main\.[a-zA-Z]* kinds.go' 'a sum'
sed -n 's/.*accounted for: \([0-9.]*\) % [^0-9]* \([0-9.]*\) %.*/\1 \2/p' "$work/report" >"$work/shares"
expect_within 'spans with a share' "$(wc -l <"$work/shares")" 5 10
expect 'of these farther from 100 % than three standard errors' "$(awk '
	{ off = $1 > 100 ? $1 - 100 : 100 - $1 }
	off > 3 * $2 + 1 { far++ }
	END { print far + 0 }' "$work/shares")" 0

echo '-- against the execution trace'
profiled "$work/waits" -trace "$work/trace"
judge traced -trace "$work/trace"

echo '-- here and there for 200 µs'
run 0 "$spanprof" --wait 99 -d $((seconds + 30)) -o "$work/waits.pb.gz" --verbose -- \
	"$work/waits" -storm 50 -seconds "$seconds"
grep 'waits:' "$work/log" || fail 'no figures of looks'
"$work/verify" storm -pprof "$work/waits.pb.gz" || fail 'stacks that do not exist'

echo '-- more to do than there are CPUs'
busy=''
for _ in 1 2 3 4; do
	sh -c 'while :; do :; done' &
	busy="$busy $!"
	child "$!"
done
profiled "$work/waits"
judge waits -whole
for pid in $busy; do
	end "$pid" || :
done

echo '-- half a CPU by quota'
make_group
cat >"$work/throttled" <<-EOF
	#!/bin/sh
	echo "\$\$" >$group/cgroup.procs
	exec $work/waits "\$@"
EOF
chmod +x "$work/throttled"
profiled "$work/throttled"
judge waits -whole
rmdir "$group"
verdict
