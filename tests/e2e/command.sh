#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spanprof -- COMMAND: profiled from its first instruction, descendants included; its user, its
# signals, its end and its failures.
# Time limit: 150
#
#   tests/e2e/command.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: command.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/shop.sh
. scripts/lib/e2e.sh

go_build tests/e2e/sink "$work/sink"
shop_build "$work"
(cd tests/targets/plain && go build -o "$work/early" ./early)
top=$(pwd)

# Counts of the lines of $work/out.folded that match.
folded()
{
	awk -v expression="$1" '$0 ~ expression { sum += $NF } END { print sum + 0 }' \
		"$work/out.folded"
}

# A program of 0.3 s: its own getrusage says how many samples there should be.
first_instruction()
{
	e2e_case='short program: '
	run 0 "$spanprof" -F 999 -o "$work/out.folded" -o "$work/out.otlp" -- "$work/early"
	cpu_us=$(sed -n 's/^early: .*cpu_us=//p' "$work/out")
	span=$(sed -n 's/^early: span=\([0-9a-f]*\).*/\1/p' "$work/out")
	echo "${e2e_case}CPU microseconds by its own account: $cpu_us"
	expect_within 'percent of the expected samples kept' "$(folded . |
		awk -v us="$cpu_us" '{ printf "%.1f\n", $1 / (us * 999 / 1e8) }')" 90 115
	expect_within 'percent of 150 ms seen in init' "$(folded main.burnInInit |
		awk '{ printf "%.1f\n", $1 / 1.5 }')" 85 105
	# The loader of programs has no symbols: its own name and an offset.
	expect 'samples without a name' "$(folded '\[unknown\]|;0x')" 0
	"$work/sink" check "$work/out.otlp" >"$work/figures" || fail "$(cat "$work/figures")"
	"$work/sink" list "$work/out.otlp" >"$work/list"
	expect 'spans' "$(sed -n 's/^link [0-9a-f]* \([0-9a-f]*\) .*/\1/p' "$work/list")" "$span"
	expect_within 'percent of 150 ms seen in the first span' "$(
		sed -n 's/^link .* //p' "$work/list" | awk '{ printf "%.1f\n", $1 / 1.5 }')" 85 115
	grep '^function' "$work/list" | expect 'in it main.burnInInit' "$(grep -c main.burnInInit)" 0
	expect_text "$work/out" "span $span" report
	e2e_case=
}

# The service is a child of the COMMAND. The go command's own children are profiled like it.
go_run()
{
	e2e_case='go run: '
	(cd tests/targets/shop && run 0 "$spanprof" -F 199 -o "$work/out.otlp" -- go run . -load 5)
	# The shop ends itself after its load; go run then ends, and with it the run.
	sed -n 's/^span .* trace=\([0-9a-f]*\) span=.*/\1/p' "$work/out" >"$work/traces"
	expect_within 'requests' "$(wc -l <"$work/traces")" 4 1000
	"$spanprof" show "$work/out.otlp" --service shop -o "$work/shop.otlp" 2>"$work/log" ||
		fail "show: $(cat "$work/log")"
	"$work/sink" list "$work/shop.otlp" >"$work/list"
	sed -n 's/^link \([0-9a-f]*\) .*/\1/p' "$work/list" | sort -u >"$work/linked"
	expect 'traces that the shop did not print' "$(grep -vxFc -f "$work/traces" "$work/linked")" 0
	expect_within 'traces linked' "$(wc -l <"$work/linked")" 4 1000
	# It is its own client, and that is outside any span.
	expect_within 'percent of the samples of the shop inside spans' "$(awk '
		/^link/ { linked += $NF } /^unlinked/ { other += $NF }
		END { printf "%.1f\n", linked * 100 / (linked + other) }' "$work/list")" 60 100
	expect_text "$work/list" '^function .* main.countPrimes$' named
	e2e_case=
}

# left_behind SECONDS: how many of the processes that $work/plain was given so long run on.
left_behind()
{
	pgrep -xcf "$work/plain -seconds $1" || :
}

# start_command SECONDS: in the background, as a child of a shell that traps every signal.
start_command()
{
	: >"$work/log"
	# A shell without job control lets background commands ignore SIGINT.
	# shellcheck disable=SC2016
	env --default-signal=INT "$spanprof" -- sh -c '
		for name in INT TERM HUP; do
			trap "echo got $name; exit 3" "$name"
		done
		"$0" -seconds "$1" & wait' "$work/plain" "$1" >"$work/out" 2>"$work/log" &
	profiler=$!
	child "$profiler"
	within 10 grep -q attached "$work/log" || fail "does not attach: $(cat "$work/log")"
	expect 'children' "$(left_behind "$1")" 1
}

# signal NAME: sent to spanprof, it reaches the COMMAND, which ends in its own way; the child that it
# leaves behind is ended with it.
signal()
{
	e2e_case="SIG$1: "
	start_command 31
	sleep 0.5
	began=$(date +%s.%N)
	status=0
	end "$profiler" "$1" || status=$?
	expect_within 'seconds to the end' "$(seconds_since "$began")" 0 2.5
	expect 'exit status' "$status" 0
	expect_text "$work/out" "^got $1$" 'the command'
	expect_text "$work/log" 'the command exited with status 3' said
	expect_text "$work/out" 'samples .* CPU' report
	expect 'left behind' "$(left_behind 31)" 0
	e2e_case=
}

nothing_left_behind()
{
	# shellcheck disable=SC2317 # called by within
	[ "$(left_behind 32)" = 0 ]
}

# Ended by kill -9, spanprof leaves neither child nor grandchild.
killed()
{
	e2e_case='kill -9: '
	start_command 32
	began=$(date +%s.%N)
	end "$profiler" KILL || :
	within 5 nothing_left_behind || fail 'a grandchild runs on'
	expect_within 'seconds until nothing runs' "$(seconds_since "$began")" 0 2.5
	e2e_case=
}

# As sudo leaves it: the command and the files are the user's.
as_invoker()
{
	e2e_case='SUDO_UID: '
	chmod 755 "$work"
	mkdir "$work/theirs"
	# shellcheck disable=SC2016
	SUDO_UID=65534 SUDO_GID=65534 run 0 "$spanprof" -o "$work/theirs/a.folded" \
		-o "$work/theirs/a.pb.gz" -o "$work/theirs/a.otlp" -- \
		sh -c 'id -u; id -g; id -G; "$0"; exit 5' "$work/early"
	expect 'user, group, groups' "$(head -3 "$work/out" | xargs)" '65534 65534 65534'
	expect_text "$work/log" 'the command exited with status 5' said
	for name in a.folded a.pb.gz a.otlp; do
		expect "$name" "$(stat -c '%u:%g %a' "$work/theirs/$name")" '65534:65534 600'
	done
	expect 'files' "$(find "$work/theirs" -type f | wc -l)" 3
	e2e_case=
}

# refused NAME EXPRESSION COMMAND...: one line, no report.
refused()
{
	e2e_case="$1: " expression=$2
	shift 2
	run 1 "$spanprof" -d 5 -- "$@"
	expect 'lines' "$(wc -l <"$work/log")" 1
	expect_text "$work/log" "^spanprof: error: $expression" said
	expect 'bytes of report' "$(wc -c <"$work/out")" 0
	e2e_case=
}

ends()
{
	refused 'no such program' './no-such-program: No such file' ./no-such-program
	refused 'nowhere on PATH' 'no-such-program: No such file' no-such-program
	refused 'not executable' '/etc/passwd: Permission denied' /etc/passwd
	refused 'no program' '/: Permission denied' /
	e2e_case='-d ends it: '
	began=$(date +%s.%N)
	# shellcheck disable=SC2016
	run 0 "$spanprof" -d 1.5 -- sh -c '"$0" -seconds 33; :' "$work/plain"
	expect_within 'seconds' "$(seconds_since "$began")" 1.5 4
	expect 'left behind' "$(left_behind 33)" 0
	e2e_case='left in the background: '
	# shellcheck disable=SC2016
	run 0 "$spanprof" -- sh -c '"$0" -seconds 3 >"$1" & sleep 0.5' "$work/plain" "$work/plain.out"
	expect 'runs on' "$(left_behind 3)" 1
	within 6 grep -q rounds "$work/plain.out" || fail 'was ended'
	e2e_case='not Go: '
	run 1 "$spanprof" -- sh -c 'echo out; echo err >&2; exit 7'
	expect_text "$work/out" '^out$' stdout
	expect_text "$work/log" '^err$' stderr
	expect_text "$work/log" 'exited with status 7' said
	expect_text "$work/log" 'nothing was profiled: no Go program' said
	e2e_case=
}

# A process that was named stays profiled through one exec after the other.
runs_itself_anew()
{
	e2e_case='execs: '
	"$work/reexec" -times 75 -each 40ms >"$work/reexec.out" &
	child "$!"
	sleep 0.1
	run 0 "$spanprof" -p "$!" -o "$work/reexec.folded"
	wait "$!" || fail "the program exited $?"
	expect_text "$work/log" 'all profiled processes have ended' said
	expect 'lines that it attached' "$(grep -c attached "$work/log")" 1
	used=$(sed -n 's/^reexec: cpu_us=//p' "$work/reexec.out")
	# It was on its way before spanprof was.
	expect_within 'percent of its CPU that was seen' "$(awk -v used="$used" \
		'{ sum += $NF } END { print sum * 1e6 / 99 / used * 100 }' "$work/reexec.folded")" 65 105
	e2e_case=
}

(cd tests/targets/plain && go build -o "$work/plain" . && go build -o "$work/reexec" ./reexec)
cd "$top"
first_instruction
go_run
for name in INT TERM HUP; do
	signal "$name"
done
killed
runs_itself_anew
as_invoker
ends
verdict
