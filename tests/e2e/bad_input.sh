#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a user may get wrong and what may go wrong around them: one clear line each, the exit status
# of the contract, the target unharmed.
# Time limit: 150
#
#   tests/e2e/bad_input.sh BUILD_DIR
set -eu
spanprof=$(realpath "${1:?usage: bad_input.sh BUILD_DIR}")/spanprof
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh

# says STATUS EXPRESSION COMMAND...: one line on stderr, nothing on stdout.
says()
{
	wanted=$1 expression=$2
	shift 2
	began=$(date +%s.%N)
	run "$wanted" "$@"
	expect_within 'seconds' "$(seconds_since "$began")" 0 2.5
	expect_text "$work/log" "^spanprof: error: .*$expression" said
	[ "$(wc -l <"$work/log")" = 1 ] || fail "more than one line: $(cat "$work/log")"
	[ ! -s "$work/out" ] || fail "on stdout: $(head -5 "$work/out")"
}

# start PROGRAM [ARGUMENT...]: sets target.
start()
{
	: >"$work/target.out"
	"$@" >"$work/target.out" 2>&1 &
	target=$!
	child "$target"
	within 10 grep -q ready "$work/target.out" || fail "$1 does not start"
}

options()
{
	says 2 'unknown .*--nope' "$spanprof" --nope
	says 2 'incomplete option -d' "$spanprof" -d
	says 2 'unexpected argument' "$spanprof" something
	says 2 'not a process ID: abc' "$spanprof" -p abc
	says 2 'not a process ID: 0' "$spanprof" -p 0
	says 2 'not a process ID: 1x' "$spanprof" -p 1,1x
	says 2 'exclude each other' "$spanprof" -p 1 -- true
	says 2 'from 1 to 4000' "$spanprof" -p 1 -F 0
	says 2 'from 0.1 to' "$spanprof" -p 1 -d 0
	says 2 'on or off' "$spanprof" -p 1 --probes maybe
	says 2 'whole number' "$spanprof" -p 1 -F 1.9
	says 2 'show writes .pb.gz' "$spanprof" show a.otlp -o a.jsonl
	says 2 'OTLP\|http' "$spanprof" -p 1 --otlp-endpoint ftp://127.0.0.1
}

processes()
{
	sleep 100 &
	sleeper=$!
	child "$sleeper"
	says 1 'pid 4194304: no such process' "$spanprof" -p 4194304
	says 1 "pid $sleeper: it is not a Go program" "$spanprof" -p "$sleeper"
	[ ! -e /proc/2/comm ] || [ -n "$(tr -d '\0' </proc/2/cmdline)" ] ||
		says 1 'pid 2: .*kernel thread' "$spanprof" -p 2
	# One of two is there: profiled, and the other told.
	start "$work/plain" -seconds 60
	run 1 "$spanprof" -p "$target,4194304" -d 1
	expect_text "$work/log" 'error: pid 4194304: no such process' said
	expect_text "$work/out" 'service (plain)' report
	end "$target" || fail "the target exited $?"
	# It ends meanwhile, by itself or not.
	start "$work/plain" -seconds 5
	run 0 "$spanprof" -p "$target" -d 20
	expect_text "$work/log" 'all profiled processes have ended' said
	expect_text "$work/out" 'service (plain)' report
	start "$work/plain" -seconds 60
	: >"$work/log"
	(
		within 20 grep -q 'attached to' "$work/log" && sleep 1
		kill -9 "$target"
	) &
	run 0 "$spanprof" -p "$target" -d 20
	expect_text "$work/log" 'all profiled processes have ended' 'said, after kill -9'
	expect_text "$work/out" 'service (plain)' report
}

# without CAPABILITY: all but that one.
without()
{
	says 1 "missing CAP_$(echo "$1" | tr '[:lower:]' '[:upper:]') .*: run as root" \
		setpriv --bounding-set "-$1" --inh-caps "-$1" "$spanprof" -p "$target" -d 1
}

permissions()
{
	start "$work/sdk" -mode spans -seconds 60
	for capability in sys_admin sys_ptrace dac_read_search; do
		without "$capability"
	done
	says 1 'missing CAP_SYS_ADMIN.*CAP_SYS_PTRACE.*CAP_DAC_READ_SEARCH' \
		setpriv --bounding-set -all --inh-caps -all "$spanprof" -p "$target" -d 1
	chmod 755 "$work"
	install -m 755 "$spanprof" "$work/spanprof"
	says 1 'missing CAP_SYS_ADMIN.*run as root (sudo)' \
		setpriv --reuid 65534 --regid 65534 --clear-groups "$work/spanprof" -p "$target"
	# These three are enough.
	three=-all,+sys_admin,+sys_ptrace,+dac_read_search
	run 0 setpriv --bounding-set "$three" --inh-caps -all "$spanprof" -p "$target" -d 1.5
	expect_text "$work/out" '[1-9][0-9]* samples .* inside [1-9]' 'with these three'
}

# Run in a mount namespace: keeps mounts in it. In a chroot "/" is no mount.
private='mount --make-rprivate / 2>/dev/null ||
	{ mount --make-rprivate /sys && mount --make-rprivate /proc; }'

surroundings()
{
	# shellcheck disable=SC2016
	says 1 'kernel type information .*CONFIG_DEBUG_INFO_BTF' \
		unshare -m --propagation unchanged \
		sh -c "$private"' && mount -t tmpfs none /sys/kernel/btf && "$0" -p "$1"' \
		"$spanprof" "$target"
	# shellcheck disable=SC2016
	says 1 'PID namespace of its own' unshare -m -p -f --propagation unchanged \
		sh -c "$private"' && mount -t proc proc /proc && exec "$0" -p 1' "$spanprof"
	says 1 'kernel 2.6 is too old: Linux 5.10' \
		setarch "$(uname -m)" --uname-2.6 "$spanprof" -p "$target"
	# shellcheck disable=SC2016
	says 1 'too many open files: raise the limit' \
		sh -c 'ulimit -n 20; "$0" -p "$1"' "$spanprof" "$target"
}

outputs()
{
	says 1 "cannot write $work/none/a.otlp: No such file" \
		"$spanprof" -p "$target" -o "$work/none/a.otlp"
	mkdir "$work/mount" "$work/folder.otlp"
	mount -t tmpfs -o size=8k none "$work/mount"
	run 1 "$spanprof" -p "$target" -d 1 -F 499 -o "$work/mount/a.jsonl" -o "$work/mount/a.otlp" \
		-o "$work/good.otlp"
	expect_text "$work/log" 'error: .*a.otlp: No space left on device' said
	expect_text "$work/log" 'error: cannot write .*a.jsonl: No space left on device' said
	expect_text "$work/log" 'wrote .*good.otlp' 'the others are written'
	expect_text "$work/out" 'service (unknown_service:sdk)' report
	expect 'files left on the full disk' "$(find "$work/mount" -type f -name '*otlp*' | wc -l)" 0
	rm -f "$work"/mount/*
	mount -o remount,ro "$work/mount"
	says 1 'cannot write .*a.folded: Read-only file system' \
		"$spanprof" -p "$target" -o "$work/mount/a.folded"
	umount "$work/mount"
	says 1 'cannot write .*folder.otlp: Is a directory' \
		"$spanprof" -p "$target" -o "$work/folder.otlp"
	e2e_case='full stdout: '
	status=0
	"$spanprof" -p "$target" -d 1 >/dev/full 2>"$work/log" || status=$?
	expect 'exit status' "$status" 1
	expect_text "$work/log" 'error: the report could not be printed' said
	e2e_case=
}

# running NAME EXPRESSION: the executable of that name runs and is profiled; the log has a line.
running()
{
	e2e_case="$1: "
	chmod 755 "$work/$1"
	start "$work/$1" -seconds 20
	[ $# -lt 3 ] || "$3"
	run 0 "$spanprof" -p "$target" -d 1
	expect_text "$work/log" "$2" said
	expect_text "$work/out" '[1-9][0-9]* samples' report
	kill -0 "$target" || fail 'the target is gone'
	end "$target" || fail "the target exited $?"
	e2e_case=
}

# shellcheck disable=SC2317 # called by running
replace_it()
{
	cp "$work/sdk" "$work/plain.new"
	mv "$work/plain.new" "$work/replaced"
}

# shellcheck disable=SC2317
remove_it()
{
	rm "$work/removed"
}

# at FILE OFFSET BYTES: overwrites with 0xff.
spoil()
{
	head -c "$3" /dev/zero | tr '\0' '\377' |
		dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# Executables that the kernel runs and that are not what a linker writes. No section may be needed.
executables()
{
	for name in replaced removed truncated sections count version; do
		cp "$work/plain" "$work/$name"
	done
	running replaced 'attached to .*replaced.*no OpenTelemetry SDK' replace_it
	running removed 'attached to .*removed' remove_it
	# The end of what is loaded; sections and debug information lie behind.
	loaded=$(readelf -lW "$work/plain" |
		awk '$1 == "LOAD" { print $2, $5 }' | tail -1)
	truncate -s "$((${loaded% *} + ${loaded#* }))" "$work/truncated"
	running truncated 'attached to .*truncated .*go1'
	table=$(readelf -hW "$work/plain" | sed -n 's/.*Start of section headers: *\([0-9]*\).*/\1/p')
	spoil "$work/sections" "$table" 2048
	running sections 'attached to .*sections .*go1'
	spoil "$work/count" 40 8 # e_shoff
	spoil "$work/count" 60 4 # e_shnum and e_shstrndx
	running count 'attached to .*count .*go1'
	spoil "$work/version" "$(grep -abo 'Go buildinf:' "$work/version" | head -1 |
		cut -d : -f 1)" 12
	running version 'attached to .*version '
	# Not Go, but it says so.
	head -c 5000 /dev/urandom >"$work/noise"
	objcopy --add-section .gopclntab="$work/noise" --add-section .go.buildinfo="$work/noise" \
		"$(command -v sleep)" "$work/liar"
	"$work/liar" 30 &
	target=$!
	child "$target"
	says 1 "pid $target: " "$spanprof" -p "$target"
	kill -0 "$target" || fail 'the target is gone'
}

# Descriptors 0 to 2 closed: what is opened next is not taken for the log or the report.
closed_descriptors()
{
	e2e_case='closed descriptors: '
	rm -f "$work/survived"
	"$spanprof" -o "$work/closed.otlp" -- sh -c "sleep 1; : >'$work/survived'" >&- 2>&- || :
	[ -e "$work/survived" ] || fail 'the command was ended'
	start "$work/plain"
	"$spanprof" -p "$target" -d 1 -o "$work/closed.jsonl" <&- >&- 2>&- || fail "exit status $?"
	expect 'lines that are no sample' "$(grep -cv '^{"time_ns":' "$work/closed.jsonl")" 0
	end "$target" || :
	e2e_case=
}

# What is no file is not replaced by one.
no_file_there()
{
	mkfifo "$work/pipe.folded" "$work/pipe.pem"
	says 1 'pipe.folded: it is no regular file' "$spanprof" -p "$target" -d 1 -o "$work/pipe.folded"
	expect 'still a FIFO' "$(stat -c %F "$work/pipe.folded")" fifo
	says 2 'cannot read .*pipe.pem: it is no regular file' env \
		"OTEL_EXPORTER_OTLP_CERTIFICATE=$work/pipe.pem" "$spanprof" -p "$target" -d 1 \
		--otlp-endpoint https://127.0.0.1:1
}

# What an earlier run wrote stays when nothing could be profiled.
earlier_file()
{
	for name in earlier.otlp earlier.jsonl; do
		echo earlier >"$work/$name"
		says 1 'no such process' "$spanprof" -p 4194304 -o "$work/$name"
		says 1 'nothing was profiled' "$spanprof" -o "$work/$name" -- true
		expect "$name" "$(cat "$work/$name")" earlier
	done
	expect 'files beside them' "$(find "$work" -name 'earlier.*.*' | wc -l)" 0
}

go_build tests/targets/plain "$work/plain"
(cd tests/targets/plain && go build -o "$work/sdk" ./sdk)
options
processes
permissions
surroundings
outputs
executables
closed_descriptors
no_file_there
earlier_file
verdict
