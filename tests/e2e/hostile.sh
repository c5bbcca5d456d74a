#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a target chose (span names, file names, the name of its executable, its service's name) may
# hold control characters, direction marks, invalid UTF-8 or a megabyte: none of that reaches a
# terminal, a log, a file or the wire, and the spans are still there.
# Time limit: 120
#
#   tests/e2e/hostile.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: hostile.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh

# The line directive's file name gets an escape sequence and a direction mark; so does the file.
hostile_build()
{
	cp -R tests/targets/hostile "$work/source"
	printf 's|FILE|a\033]0;owned\\a\342\200\256b|\n' >"$work/script.sed"
	sed -i -f "$work/script.sed" "$work/source/main.go"
	hostile=$work/$(printf 'ho\033]0;owned\007\342\200\256\377st\nile')
	go_build "$work/source" "$hostile"
	grep -aq "$(printf 'a\033]0;owned')" "$hostile" || fail 'the program is not hostile'
}

# In bytes: C1 controls; line and paragraph separators, direction marks and isolates.
marks=$(printf '\302[\200-\237]\\|\342\200[\250-\256]\\|\342\201[\246-\251]')

# clean FILE WHAT: UTF-8 without any of these; newlines are the writer's.
clean()
{
	iconv -f UTF-8 -t UTF-8 "$1" >"$work/null" 2>&1 ||
		fail "$2 is no UTF-8: $(tail -1 "$work/null")"
	printed=$(LC_ALL=C tr -d '\n' <"$1" | LC_ALL=C grep -acv '^[^[:cntrl:]]*$' || :)
	expect "control characters in $2" "${printed:-0}" 0
	expect "marks in $2" "$(LC_ALL=C grep -ac "$marks" "$1")" 0
	expect_within "longest line of $2" "$(awk '{ if (length > most) most = length }
		END { print most + 0 }' "$1")" 1 4096
}

everywhere()
{
	sink_start -status 200
	run 0 env "OTEL_SERVICE_NAME=$(printf 'ser\033]0;owned\007vice')" \
		"OTEL_RESOURCE_ATTRIBUTES=service.version=%1B]0;owned%07%FF%E2%80%AE" \
		"$spanprof" --verbose --window 1 --otlp-endpoint "http://$sink_address" \
		-o "$work/a.folded" -o "$work/a.pb.gz" -o "$work/a.otlp" -o "$work/a.jsonl" \
		-- "$hostile" -rounds 3
	end "$sink_pid" || fail "malformed on the wire: $(cat "$sink_dir/lines")"
	grep '^span [0-9a-f]\{16\} ' "$work/out" >"$work/printed"
	grep -v '^span [0-9a-f]\{16\} ' "$work/out" >"$work/report"
	clean "$work/report" 'the report'
	clean "$work/log" 'the log'
	clean "$work/a.folded" 'a.folded'
	clean "$work/a.jsonl" 'a.jsonl'
	"$work/sink" check "$work/a.otlp" >"$work/figures" || fail "a.otlp: $(cat "$work/figures")"
	go tool pprof -raw "$work/a.pb.gz" >"$work/raw" 2>"$work/pprof.err" ||
		fail "go tool pprof: $(cat "$work/pprof.err")"
	clean "$work/raw" 'what go tool pprof reads in a.pb.gz'
	"$spanprof" show "$work/a.otlp" >"$work/shown" || fail 'show fails'
	clean "$work/shown" 'show a.otlp'
	expect 'forged lines in the log' "$(grep -c '^spanprof: error' "$work/log")" 0
	expect 'forged stacks in a.folded' "$(grep -c '1000000' "$work/a.folded")" \
		"$(grep -c 'main.forged 1000000;.* [0-9]*$' "$work/a.folded")"
}

# Each span under its own ID, whatever it is called.
spans_are_there()
{
	"$work/sink" list "$work/a.otlp" >"$work/list"
	expect 'spans printed' "$(wc -l <"$work/printed")" 33
	missing=
	while read -r _ span about; do
		grep -q "^link [0-9a-f]* $span " "$work/list" || missing="$missing $about"
	done <"$work/printed"
	# Each burned 50 ms of CPU, which are five samples.
	expect 'spans without a sample' "$missing" ''
	expect 'links of no such span' "$(sed -n 's/^link [0-9a-f]* \([0-9a-f]*\) .*/\1/p' \
		"$work/list" | grep -vc -f "$(cut -d ' ' -f 2 "$work/printed" >"$work/ids"
			echo "$work/ids")")" 0
	expect_text "$work/list" '^resource service.name=ser.*]0;owned.*vice$' cleaned
	expect_text "$work/report" 'title .*]0;owned' cleaned
	expect_text "$work/report" 'main.work' named
	"$spanprof" show "$work/a.otlp" --span-name 'color �[31mred�[0m' >"$work/shown" ||
		fail 'show fails'
	expect_text "$work/shown" 'main.work' 'show --span-name, as printed'
}

# On a terminal there are sequences of our own: colors and the live table, CSI only.
terminal()
{
	"$hostile" -rounds 8 >"$work/null" 2>&1 &
	target=$!
	child "$target"
	# shellcheck disable=SC2016
	PROFILER=$spanprof TARGET=$target TERM=xterm \
		script -qec '"$PROFILER" -p "$TARGET" -d 3' "$work/typescript" \
		</dev/null >"$work/null" 2>&1 || fail "on a terminal: $(tail -3 "$work/typescript")"
	end "$target" || :
	# What script itself writes, and carriage returns of the terminal, are not ours.
	sed -e '1d;$d' "$work/typescript" | tr -d '\r' |
		sed -e "s/$(printf '\033')\[[0-9;]*[ABCDHJKm]//g" >"$work/screen"
	expect_text "$work/screen" 'title .*]0;owned' 'live table'
	clean "$work/screen" 'the terminal but for CSI'
	expect 'erasures by the target' "$(grep -c "$(printf '\033')\[2J" "$work/typescript")" 0
}

go_build tests/e2e/sink "$work/sink"
hostile_build
everywhere
spans_are_there
terminal
verdict
