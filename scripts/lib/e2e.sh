# SPDX-License-Identifier: Apache-2.0
# What end-to-end tests share: a scratch folder, children, comparisons, a sink; sourced from the
# top of the tree. A comparison that fails is told and remembered, and the test goes on.
# shellcheck shell=sh disable=SC2034,SC2086
. scripts/lib/packages.sh
# shellcheck disable=SC2154
need_packages $packages_e2e

e2e_name=$(basename "$0") e2e_failures=0 e2e_children='' e2e_ending=
# The name in front of comparisons, when a case is run more than once.
e2e_case=
work=$(mktemp -d)

# child PID...: to be ended, and waited for, with the test.
child()
{
	e2e_children="$e2e_children $*"
}

# end PID [SIGNAL]: ends a child now; its exit status.
end()
{
	kill "-${2:-TERM}" "$1" 2>/dev/null || :
	e2e_status=0
	wait "$1" 2>/dev/null || e2e_status=$?
	return "$e2e_status"
}

e2e_end()
{
	[ -z "$e2e_ending" ] || return 0
	e2e_ending=yes
	for e2e_child in $e2e_children; do
		kill "$e2e_child" 2>/dev/null || :
	done
	for e2e_child in $e2e_children; do
		wait "$e2e_child" 2>/dev/null || :
	done
	# A test may have mounted something there.
	umount "$work/mount" 2>/dev/null || :
	rm -rf "$work"
}
trap e2e_end EXIT
trap 'exit 130' INT TERM

fail()
{
	echo "$e2e_name: $e2e_case$*" >&2
	e2e_failures=$((e2e_failures + 1))
}

# verdict: the exit of a test.
verdict()
{
	[ "$e2e_failures" = 0 ] || {
		echo "$e2e_name: $e2e_failures failed" >&2
		exit 1
	}
	exit 0
}

# expect WHAT GOT WANTED
expect()
{
	if [ "$2" = "$3" ]; then
		echo "$e2e_case$1: $2"
	else
		fail "$1: got '$2', wanted '$3'"
	fi
}

# expect_within WHAT GOT LEAST MOST: numbers, fractions allowed.
expect_within()
{
	if awk -v got="$2" -v least="$3" -v most="$4" \
		'BEGIN { exit !(got != "" && got + 0 >= least && got + 0 <= most) }'; then
		echo "$e2e_case$1: $2"
	else
		fail "$1: got '$2', wanted $3 to $4"
	fi
}

# expect_text FILE EXPRESSION WHAT: some line of the file matches.
expect_text()
{
	if grep -q -e "$2" "$1"; then
		echo "$e2e_case$3: $(grep -m 1 -e "$2" "$1" | cut -c 1-200)"
	else
		fail "$3: no line like '$2' in:"
		head -20 "$1" | cut -c 1-300 >&2
	fi
}

# expect_no_text FILE EXPRESSION WHAT
expect_no_text()
{
	if grep -a -q -e "$2" "$1"; then
		fail "$3: $(grep -a -m 1 -e "$2" "$1" | cut -c 1-300 | cat -v)"
	fi
}

# within SECONDS COMMAND...: tries ten times a second until it succeeds.
within()
{
	e2e_tries=$(($1 * 10))
	shift
	until "$@"; do
		e2e_tries=$((e2e_tries - 1))
		[ "$e2e_tries" -gt 0 ] || return 1
		sleep 0.1
	done
}

# run STATUS COMMAND...: its stdout goes to $work/out, its stderr to $work/log.
run()
{
	e2e_wanted=$1
	shift
	e2e_status=0
	"$@" >"$work/out" 2>"$work/log" || e2e_status=$?
	[ "$e2e_status" = "$e2e_wanted" ] || {
		fail "exit status $e2e_status, wanted $e2e_wanted: $*"
		head -20 "$work/log" | cut -c 1-300 >&2
	}
}

# seconds_since T: T as date +%s.%N gave it.
seconds_since()
{
	date +%s.%N | awk -v since="$1" '{ printf "%.2f\n", $1 - since }'
}

# go_build DIR OUTPUT [FLAG...]: exits 77 when a module could not be fetched.
go_build()
{
	(
		cd "$1" || exit 1
		output=$2
		shift 2
		go mod download || {
			echo 'could not fetch the modules' >&2
			exit 77
		}
		go build -o "$output" "$@" .
	)
}

sink_pid='' sink_address='' sink_dir=''
# sink_start [OPTION...]: a new tests/e2e/sink with a new folder; sets these three.
sink_start()
{
	sink_dir=$(mktemp -d "$work/sink.XXXXXX")
	"$work/sink" -dir "$sink_dir" "$@" >"$sink_dir/lines" 2>"$sink_dir/errors" &
	sink_pid=$!
	child "$sink_pid"
	within 10 test -s "$sink_dir/lines" || {
		echo "$e2e_name: the sink does not start" >&2
		exit 1
	}
	sink_address=$(head -n 1 "$sink_dir/lines")
}

# free_address: a loopback address that nobody listened on a moment ago.
free_address()
{
	sink_start -status 200
	end "$sink_pid" || :
	echo "$sink_address"
}

# sink_figure FIELD: that number of every request, a line each.
sink_figure()
{
	sed -n "s/.*\"$1\":\([0-9.-]*\).*/\1/p" "$sink_dir/lines"
}

sum()
{
	awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# text_differences PID: in how many bytes the program text in its memory differs from that in its
# file. A probe is one byte on x86-64, four on arm64. Not for programs with relocated text.
text_differences()
{
	awk '$2 ~ /x/ && $6 ~ /^\// { print $1, $3; exit }' "/proc/$1/maps" | {
		IFS='- ' read -r e2e_start e2e_end e2e_offset
		e2e_pages=$(((0x$e2e_end - 0x$e2e_start) / 4096))
		dd if="/proc/$1/mem" bs=4096 skip=$((0x$e2e_start / 4096)) count="$e2e_pages" \
			of="$work/text.memory" 2>/dev/null
		dd if="/proc/$1/exe" bs=4096 skip=$((0x$e2e_offset / 4096)) count="$e2e_pages" \
			of="$work/text.file" 2>/dev/null
		[ -s "$work/text.memory" ] || echo 'unreadable'
		# The last page of the file may end early.
		cmp -l -n "$(stat -c %s "$work/text.file")" "$work/text.memory" "$work/text.file" |
			wc -l
	}
}
