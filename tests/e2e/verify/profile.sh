# SPDX-License-Identifier: Apache-2.0
# Runs the truth program and spanprof beside it; sourced after scripts/lib/e2e.sh.
# shellcheck shell=sh disable=SC2154,SC2034

# cpu_times: ticks that the machine's CPUs were busy, and those that its host took of these.
cpu_times()
{
	awk '$1 == "cpu" { print $2 + $3 + $4 + $7 + $8 + $9, $9 }' /proc/stat
}

# truth_profile SPANPROF PROGRAM SECONDS HERTZ: samples.jsonl, samples.pb.gz, truth.jsonl, the
# program's truth.out and spanprof's log in $work. Says on stderr what went wrong.
truth_profile()
{
	: >"$work/truth.out"
	"$2" -seconds $(($3 + 60)) -truth "$work/truth.jsonl" >"$work/truth.out" 2>&1 &
	truth_pid=$!
	child "$truth_pid"
	truth_status=0
	if ! within 20 grep -q ready "$work/truth.out"; then
		echo 'the truth program does not get ready' >&2
		truth_status=1
	elif truth_before=$(cpu_times) && ! "$1" -p "$truth_pid" -F "$4" -d "$3" -o "$work/samples.jsonl" \
		-o "$work/samples.pb.gz" >"$work/report" 2>"$work/log"; then
		echo 'spanprof failed' >&2
		cat "$work/log" >&2
		truth_status=1
	fi
	truth_stolen=$(echo "$truth_before $(cpu_times)" | awk '{ print ($4 - $2) / ($3 - $1 + 1) }')
	end "$truth_pid" || truth_status=$?
	e2e_children=
	[ "$truth_status" = 0 ] || cat "$work/truth.out" >&2
	return "$truth_status"
}

# truth_verify HERTZ [OPTION...]: judges that run.
truth_verify()
{
	truth_hertz=$1
	shift
	"$work/verify" truth -stolen "$truth_stolen" -truth "$work/truth.jsonl" -samples "$work/samples.jsonl" \
		-pprof "$work/samples.pb.gz" -freq "$truth_hertz" "$@"
}
