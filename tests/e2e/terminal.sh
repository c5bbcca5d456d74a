#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What stands on a real terminal: one table, renewed in place, under log lines that stay; the whole
# screen of a COMMAND left to it; the report as wide as the terminal.
# Tier: full
# Time limit: 120
#
#   tests/e2e/terminal.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: terminal.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/shop.sh
. scripts/lib/e2e.sh
# shellcheck disable=SC2086
need_packages tmux

tmux_run()
{
	tmux -S "$work/tmux" -f /dev/null "$@"
}

# on_terminal COLUMNS COMMAND...: in a session of its own, 40 rows high.
on_terminal()
{
	columns=$1
	shift
	tmux_run new-session -d -x "$columns" -y 40 -- "$*; sleep 60"
}

# What stands there now, as $work/screen; longer lines are those that the terminal had to break.
look()
{
	tmux_run capture-pane -p -J >"$work/screen"
}

# shellcheck disable=SC2317 # called by within
shows()
{
	look
	grep -q -e "$1" "$work/screen"
}

close_terminal()
{
	tmux_run kill-server
	within 5 test ! -e "$work/tmux" || rm -f "$work/tmux"
}

table_head='^span name  *spans samples'

# A service without spans: why comes in the middle of the run, and stays above the table.
message_stays()
{
	"$work/sdk" -mode noprovider -seconds 60 >"$work/sdk.out" 2>&1 &
	child "$!"
	on_terminal 100 "$spanprof -p $! -d 7"
	within 5 shows "$table_head" || fail "no table: $(cat "$work/screen")"
	within 6 shows 'no span has started yet' || fail "no reason: $(cat "$work/screen")"
	sleep 1.5
	look
	expect 'lines that say why, two tables later' \
		"$(grep -c 'no span has started yet' "$work/screen")" 1
	expect 'lines that say attached' "$(grep -c 'spanprof: attached' "$work/screen")" 1
	expect 'heads of tables' "$(grep -c "$table_head" "$work/screen")" 1
	within 5 shows 'CPU outside any span' || fail "no report: $(cat "$work/screen")"
	expect 'heads of tables at the end' "$(grep -c "$table_head" "$work/screen")" 0
	expect 'reports' "$(grep -c 'inside 0 spans' "$work/screen")" 1
	expect 'lines that say why, at the end' \
		"$(grep -c 'no span has started yet' "$work/screen")" 1
	close_terminal
}

# fits COLUMNS: table and report on a terminal so wide.
fits()
{
	e2e_case="$1 columns: "
	on_terminal "$1" "$spanprof -p $shop_pid -d 4"
	within 5 shows 'GET /cpu-heavy' || fail "no table: $(cat "$work/screen")"
	grep -v '^spanprof:' "$work/screen" >"$work/table"
	expect_within 'longest line of the table' "$(longest "$work/table")" 20 "$1"
	within 8 shows 'CPU outside any span' || fail "no report: $(cat "$work/screen")"
	tmux_run capture-pane -p -J -S - | grep -v '^spanprof:' >"$work/table"
	expect_within 'longest line of the report' "$(longest "$work/table")" 20 "$1"
	expect_text "$work/table" 'main.isPrime' 'the line that burns'
	close_terminal
	e2e_case=
}

longest()
{
	LC_ALL=C.UTF-8 wc -L <"$1"
}

# Lines of the COMMAND are not wiped: there is no table between them.
command_keeps_its_screen()
{
	on_terminal 100 "$spanprof -- sh -c 'for i in 1 2 3 4 5 6 7 8; do echo line \$i; sleep 0.4; done;
		exec $work/sdk -mode spans -seconds 2'"
	within 12 shows 'CPU outside any span\|Spans with the most' ||
		fail "no report: $(cat "$work/screen")"
	tmux_run capture-pane -p -S - >"$work/screen"
	expect 'lines of the command' "$(grep -c '^line [1-8]$' "$work/screen")" 8
	close_terminal
}

(cd tests/targets/plain && go build -o "$work/sdk" ./sdk)
shop_build "$work"
message_stays
command_keeps_its_screen
shop_start "$work" -load 60
child "$shop_pid"
fits 80
fits 120
fits 50
verdict
