#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The files of one run say the same: pprof as go tool pprof reads it, folded stacks, OTLP as the
# official modules and spanprof show read it, which makes the same .otlp file of the pprof file; and
# what show does with files that are none.
# Time limit: 150
#
#   tests/e2e/files.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: files.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/shop.sh
. scripts/lib/e2e.sh

# pprof OPTION...: the table, unabridged, of the samples.
pprof()
{
	go tool pprof -top -sample_index=samples -nodecount=100000 -nodefraction=0 "$@" \
		"$work/a.pb.gz" 2>"$work/pprof.err" || fail "go tool pprof: $(cat "$work/pprof.err")"
}

pprof_total()
{
	sed -n 's/^Showing nodes accounting for \([0-9]*\).*/\1/p' "$1"
}

folded_total()
{
	awk '{ sum += $NF } END { print sum + 0 }' "$1"
}

# linked FIELD VALUE: samples of the links with it, from the list. Fields 2 trace, 3 span.
linked()
{
	awk -v field="$1" -v value="$2" \
		'$1 == "link" && $field == value { sum += $4 } END { print sum + 0 }' "$work/list"
}

# chosen FILE: samples that a filtered report says it is about.
chosen()
{
	sed -n 's/^Only .*: \([0-9,]*\) samples\{0,1\} .*/\1/p' "$1" | tr -d ,
}

several_at_once()
{
	echo old >"$work/a.folded"
	run 0 "$spanprof" -p "$shop_pid" -d 7 -o "$work/a.pb.gz" -o "$work/a.folded" \
		-o "$work/a.otlp" -o "$work/a.jsonl"
	for name in a.pb.gz a.folded a.otlp a.jsonl; do
		expect_text "$work/log" "wrote .*/$name$" said
		expect "mode of $name" "$(stat -c %a "$work/$name")" 600
	done
	expect 'files' "$(find "$work" -name 'a.*' | wc -l)" 4
	total=$(sed -n '1s/.* \([0-9,]*\) samples .*/\1/p' "$work/out" | tr -d ,)
	"$work/sink" check "$work/a.otlp" >"$work/figures" || fail "a.otlp: $(cat "$work/figures")"
	"$work/sink" list "$work/a.otlp" >"$work/list"
	pprof >"$work/top"
	expect_within 'samples in the report' "$total" 100 100000
	expect 'samples in a.pb.gz' "$(pprof_total "$work/top")" "$total"
	expect 'samples in a.folded' "$(folded_total "$work/a.folded")" "$total"
	expect 'samples in a.otlp' "$(sed 's/.*"values":\([0-9]*\).*/\1/' "$work/figures")" "$total"
	expect 'samples in a.jsonl' "$(grep -vc ended_span "$work/a.jsonl")" "$total"
	expect_text "$work/top" "^File: shop$" 'pprof names the program'
	LC_ALL=C expect_no_text "$work/a.folded" '[[:cntrl:]]' 'control characters'
}

# Each span that was seen, asked for by its ID in both files.
span_by_span()
{
	sed -n 's/^link //p' "$work/list" | sort -rnk 3 | head -8 >"$work/spans"
	compared=0
	while read -r trace span samples; do
		e2e_case="span $span: "
		pprof "-tagfocus=span_id=^$span\$" >"$work/top"
		[ "$(pprof_total "$work/top")" = "$samples" ] ||
			fail "pprof has $(pprof_total "$work/top") samples, OTLP $samples"
		sed -n "s/^function $trace $span //p" "$work/list" | grep '^main\.' >"$work/wanted" || :
		awk '/ main\./ { print $6 }' "$work/top" | sort -u >"$work/got"
		cmp -s "$work/wanted" "$work/got" || fail "functions in OTLP: $(xargs <"$work/wanted")," \
			"in pprof: $(xargs <"$work/got")"
		"$spanprof" show "$work/a.otlp" --span "$span" >"$work/shown" || fail 'show fails'
		[ "$(chosen "$work/shown")" = "$samples" ] ||
			fail "show has $(chosen "$work/shown") samples, OTLP $samples"
		# Call paths are shortened to the width; a line that burned CPU itself is not.
		awk '/ main\./ && $1 != "0" { print $6 }' "$work/top" >"$work/burning"
		while read -r function; do
			grep -qF "$function" "$work/shown" || fail "show does not name $function"
		done <"$work/burning"
		"$spanprof" show "$work/a.otlp" --trace "$trace" >"$work/shown" || fail 'show fails'
		[ "$(chosen "$work/shown")" = "$(linked 2 "$trace")" ] ||
			fail "trace: show has $(chosen "$work/shown") samples, OTLP $(linked 2 "$trace")"
		compared=$((compared + 1))
	done <"$work/spans"
	e2e_case=
	expect 'spans compared in pprof, OTLP and show, and their traces' "$compared" 8
	heavy=$(sed -n 's/^span GET .cpu-heavy .*span=\([0-9a-f]*\) .*/\1/p' "$work/shop.log" |
		while read -r span; do linked 3 "$span"; done | sum)
	pprof '-tagfocus=span_name=^GET /cpu-heavy$' >"$work/top"
	named=$(pprof_total "$work/top")
	# The last one has not been printed when the run ends.
	expect_within 'samples of span_name GET /cpu-heavy, of printed spans' "$heavy" 20 "$named"
	expect_text "$work/top" 'main.countPrimes' 'in it'
}

selections()
{
	run 0 "$spanprof" show "$work/a.otlp" --span-name 'GET /cpu-heavy'
	expect 'samples of --span-name GET /cpu-heavy' "$(chosen "$work/out")" "$named"
	run 0 "$spanprof" show "$work/a.otlp" --service shop
	expect 'samples of --service shop' "$(chosen "$work/out")" "$total"
	run 0 "$spanprof" show "$work/a.otlp" --service shop --span-name 'GET /cpu-heavy' \
		-o "$work/b.otlp" -o "$work/b.folded" -o "$work/b.pb.gz"
	expect 'the same as b.folded' "$(folded_total "$work/b.folded")" "$named"
	"$work/sink" check "$work/b.otlp" >"$work/figures" || fail "b.otlp: $(cat "$work/figures")"
	expect 'the same as b.otlp' "$(sed 's/.*"values":\([0-9]*\).*/\1/' "$work/figures")" "$named"
	grep -F ';GET /cpu-heavy;' "$work/a.folded" | sort >"$work/wanted"
	sort "$work/b.folded" | diff "$work/wanted" - >"$work/diff" ||
		fail "b.folded is not that part of a.folded: $(head -3 "$work/diff")"
	run 0 "$spanprof" show "$work/a.otlp" -o -
	sort "$work/a.folded" >"$work/wanted"
	sort "$work/out" | diff "$work/wanted" - >"$work/diff" ||
		fail "show -o - differs from a.folded: $(head -3 "$work/diff")"
	run 0 "$spanprof" show "$work/a.otlp" "$work/a.otlp"
	tr -d , <"$work/out" >"$work/shown"
	expect_text "$work/shown" "$((total * 2)) samples" 'a file twice'
	for option in '--service none' '--span 00000000000000aa' '--span-name none'; do
		# shellcheck disable=SC2086
		run 0 "$spanprof" show "$work/a.otlp" $option
		expect_text "$work/out" '^None of the ' "show $option"
	done
}

# What pprof has no place for aside: stacks that are cut, times of spans.
pprof_says_the_same()
{
	run 0 "$spanprof" show "$work/a.pb.gz" -o "$work/c.otlp" -o "$work/c.folded"
	"$work/sink" check "$work/c.otlp" >"$work/figures" || fail "c.otlp: $(cat "$work/figures")"
	"$work/sink" rows "$work/a.otlp" >"$work/wanted"
	"$work/sink" rows "$work/c.otlp" >"$work/got"
	expect_within 'rows of a.otlp' "$(wc -l <"$work/wanted")" 50 100000
	expect 'differences to those of a.pb.gz' \
		"$(diff "$work/wanted" "$work/got" | grep -c '^[<>]')" 0
	sort "$work/a.folded" >"$work/wanted"
	expect 'differences between folded stacks' \
		"$(sort "$work/c.folded" | diff "$work/wanted" - | grep -c '^[<>]')" 0
}

on_stdout()
{
	run 0 "$spanprof" -p "$shop_pid" -d 1 -o -
	expect 'lines of -o - that are no folded stack' "$(grep -vc '^shop;.* [0-9][0-9]*$' "$work/out")" 0
	expect_within 'samples on stdout' "$(folded_total "$work/out")" 10 400
}

# no_file NAME STATUS EXPRESSION ARGUMENT...: one line
no_file()
{
	e2e_case="$1: " wanted=$2 expression=$3
	shift 3
	run "$wanted" "$spanprof" "$@"
	expect 'lines' "$(wc -l <"$work/log")" 1
	expect_text "$work/log" "^spanprof: error: .*$expression" said
	expect 'bytes on stdout' "$(wc -c <"$work/out")" 0
	e2e_case=
}

no_files()
{
	: >"$work/empty.otlp"
	head -c 1000 "$work/a.otlp" >"$work/short.otlp"
	head -c 1000 "$work/a.pb.gz" >"$work/short.pb.gz"
	truncate -s 129M "$work/large.otlp"
	# A dictionary of 200,000 mappings, each of two bytes.
	{ printf '\022\200\265\030'; yes a | head -c 400000 | tr 'a\n' '\n\000'; } >"$work/dense.otlp"
	no_file 'over the limit' 1 'larger than 128 MiB' show "$work/large.otlp"
	no_file 'too large unpacked' 1 'too large once unpacked' show "$work/dense.otlp"
	no_file 'no such file' 1 'No such file' show "$work/none.otlp"
	no_file 'empty' 1 'no profile' show "$work/empty.otlp"
	no_file 'truncated' 1 'not an OTLP' show "$work/short.otlp"
	no_file 'truncated, pprof' 1 'damaged or cut off' show "$work/short.pb.gz"
	no_file 'a folder' 1 'not a regular file' show "$work"
	no_file 'a device' 1 'not a regular file' show /dev/zero
	no_file 'one of two' 1 'No such file' show "$work/a.otlp" "$work/none.otlp"
	no_file 'no file' 2 'at least one FILE' show
	no_file 'span of 3 digits' 2 '16 hex digits' show "$work/a.otlp" --span abc
	no_file 'unknown ending' 2 'must end in' -p "$shop_pid" -o "$work/a.svg"
	no_file 'its own input' 2 'a.otlp: that file is being read' show "$work/a.otlp" \
		--service shop -o "$work/a.otlp"
	no_file 'no folder' 1 'cannot write .*No such file' -p "$shop_pid" -d 1 -o "$work/none/a.folded"
}

go_build tests/e2e/sink "$work/sink"
shop_build "$work"
shop_start "$work" -load 120
child "$shop_pid"
several_at_once
span_by_span
selections
pprof_says_the_same
on_stdout
no_files
verdict
