# SPDX-License-Identifier: Apache-2.0
# Runs the sturdy program in pairs, one to be profiled and one left alone, and its servers under
# load; sourced after scripts/lib/e2e.sh.
# shellcheck shell=sh disable=SC2154,SC2034

# sturdy_build: $work/sturdy, and $work/alone, the same program in a file that no probe is put in.
sturdy_build()
{
	(cd tests/targets/sturdy && go test ./... >"$work/log" 2>&1) || fail "$(cat "$work/log")"
	go_build tests/targets/sturdy "$work/sturdy"
	cp "$work/sturdy" "$work/alone"
}

# sturdy_work NAME [OPTION...]: that file does its rounds; sets sturdy_pid.
sturdy_work()
{
	sturdy_name=$1
	shift
	: >"$work/$sturdy_name.err"
	"$work/$sturdy_name" work -spans "$work/$sturdy_name.spans" "$@" >"$work/$sturdy_name.out" \
		2>"$work/$sturdy_name.err" &
	sturdy_pid=$!
	child "$sturdy_pid"
	within 20 grep -q ready "$work/$sturdy_name.err" ||
		fail "$sturdy_name: $(cat "$work/$sturdy_name.err")"
}

# sturdy_pair: starts both; sets target and alone.
sturdy_pair()
{
	sturdy_work alone
	alone=$sturdy_pid
	sturdy_work sturdy
	target=$sturdy_pid
}

# shellcheck disable=SC2317 # called through within
sturdy_has_rounds()
{
	[ "$(wc -l <"$work/$1.out")" -ge "$2" ]
}

# sturdy_ended NAME PID: it ends by SIGTERM and has nothing else to say than that.
sturdy_ended()
{
	end "$2" || fail "$1 exited $?"
	expect "$1: lines of complaint" "$(grep -vc '^work: \(ready\|done\), ' "$work/$1.err")" 0
}

# sturdy_judge LEAST: ends both, and holds each round that the profiled one has done against the
# same one of the other; of these there are LEAST or more.
sturdy_judge()
{
	sturdy_ended sturdy "$target"
	sturdy_rounds=$(wc -l <"$work/sturdy.out")
	expect_within rounds "$sturdy_rounds" "$1" 1000000
	within 300 sturdy_has_rounds alone "$sturdy_rounds" || fail 'the one alone is too slow'
	sturdy_ended alone "$alone"
	sed -n 's/^work: done, //p' "$work/sturdy.err"
	head -n "$sturdy_rounds" "$work/alone.out" >"$work/wanted.out"
	awk -v rounds="$sturdy_rounds" '$1 < rounds' "$work/alone.spans" >"$work/wanted.spans"
	sturdy_failures=$e2e_failures
	for sturdy_part in sturdy.out:wanted.out sturdy.spans:wanted.spans; do
		cmp -s "$work/${sturdy_part%:*}" "$work/${sturdy_part#*:}" || {
			fail "${sturdy_part%:*} differs:"
			diff "$work/${sturdy_part%:*}" "$work/${sturdy_part#*:}" |
				cut -c 1-300 | head -4 >&2
		}
	done
	[ "$sturdy_failures" != "$e2e_failures" ] ||
		echo "${e2e_case}equal: output hash $(sed -n '$s/.* hash \([0-9a-f]*\) .*/\1/p' \
			"$work/sturdy.out"), labels of $(grep -c ' labels [0-9]' "$work/sturdy.out")" \
			"rounds, $(wc -l <"$work/sturdy.spans") spans"
	sturdy_labels=$(grep -o '[0-9]*×{[^}]*}' "$work/sturdy.out" | wc -l)
	expect_within 'sets of labels read' "$sturdy_labels" 7 10000000
}

# sturdy_serve NUMBER [OPTION...]: a server; sets sturdy_server, and adds it to sturdy_servers and
# its address to sturdy_addresses.
sturdy_addresses='' sturdy_servers=''
sturdy_serve()
{
	sturdy_number=$1
	shift
	: >"$work/serve.$sturdy_number"
	"$work/sturdy" serve "$@" >"$work/serve.$sturdy_number" 2>&1 &
	sturdy_server=$!
	child "$sturdy_server"
	within 60 grep -q ready "$work/serve.$sturdy_number" ||
		fail "server $sturdy_number: $(cat "$work/serve.$sturdy_number")"
	sturdy_servers="$sturdy_servers $sturdy_server"
	sturdy_addresses="$sturdy_addresses,$(sed -n 's/.*address //p' "$work/serve.$sturdy_number")"
}

# sturdy_load [OPTION...]: sends requests to all servers; sets sturdy_loader.
sturdy_load()
{
	: >"$work/load.out"
	"$work/alone" load -to "${sturdy_addresses#,}" -records "$work/records" "$@" \
		>"$work/load.out" 2>&1 &
	sturdy_loader=$!
	child "$sturdy_loader"
	within 20 grep -q ready "$work/load.out" || fail "load: $(cat "$work/load.out")"
}

# sturdy_end: of the load and the servers.
sturdy_end()
{
	end "$sturdy_loader" || fail "load: $(cat "$work/load.out")"
	for sturdy_each in $sturdy_servers; do
		end "$sturdy_each" || fail "a server exited $?: $(cat "$work"/serve.*)"
	done
	sturdy_addresses='' sturdy_servers=''
}

now()
{
	date +%s%N
}

# shellcheck disable=SC2317
sturdy_is_attached()
{
	[ "$(grep -c 'attached to' "$work/log")" -ge "$1" ]
}

# window NAME FROM TO: of $work/windows.
window()
{
	echo "$1 $2 $3" >>"$work/windows"
}

# sturdy_episode PROCESSES SECONDS SPANPROF OPTION...: attaches to so many, stays, detaches; adds
# the windows "before", "attach" (a second or more), "steady" and "detach" (the same). The seconds
# in which nothing happens are what is measured. Sets attach_ms.
sturdy_episode()
{
	sturdy_processes=$1 sturdy_seconds=$2
	shift 2
	sleep 1.5
	sturdy_began=$(now)
	window before $((sturdy_began - 1000000000)) "$sturdy_began"
	: >"$work/log"
	"$@" --verbose >"$work/report" 2>"$work/log" &
	profiler=$!
	child "$profiler"
	within 20 sturdy_is_attached "$sturdy_processes" || fail "does not attach: $(cat "$work/log")"
	sturdy_attached=$(now)
	attach_ms=$(((sturdy_attached - sturdy_began) / 1000000))
	sleep 0.5
	sturdy_attached=$(now)
	[ $((sturdy_attached - sturdy_began)) -ge 1000000000 ] || {
		sleep 0.5
		sturdy_attached=$(now)
	}
	window attach "$sturdy_began" "$sturdy_attached"
	sleep "$sturdy_seconds"
	sturdy_stopped=$(now)
	window steady "$sturdy_attached" "$sturdy_stopped"
	end "$profiler" INT || fail "spanprof exited $?: $(cat "$work/log")"
	sleep 1
	window detach "$sturdy_stopped" "$(now)"
}
