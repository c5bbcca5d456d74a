# SPDX-License-Identifier: Apache-2.0
# Builds, starts, loads, profiles and stops tests/targets/shop; sourced from the top of the tree.
# shellcheck shell=sh

shop_pid='' shop_load_pid='' shop_address='' shop_profiler_pid=''

# shop_build DIR: DIR/shop. Exits 77 when a module could not be fetched.
shop_build()
{
	(
		cd tests/targets/shop || exit 1
		go mod download || {
			echo 'could not fetch the modules of the shop' >&2
			exit 77
		}
		go build -o "$1/shop" .
	)
}

# shop_start DIR [FLAG...]: its output goes to DIR/shop.log; sets shop_pid and shop_address.
shop_start()
{
	shop_dir=$1
	shift
	: >"$shop_dir/shop.log"
	"$shop_dir/shop" "$@" >"$shop_dir/shop.log" 2>&1 &
	shop_pid=$!
	shop_tries=0
	while :; do
		shop_address=$(sed -n 's/^shop: listening on \([^,]*\),.*/\1/p' "$shop_dir/shop.log")
		[ -z "$shop_address" ] || return 0
		shop_tries=$((shop_tries + 1))
		if [ "$shop_tries" -ge 100 ] || ! kill -0 "$shop_pid" 2>/dev/null; then
			echo 'the shop does not start:' >&2
			cat "$shop_dir/shop.log" >&2
			return 1
		fi
		sleep 0.1
	done
}

# shop_profile SECONDS SPANPROF...: runs that command on the shop for SECONDS and, from the moment it
# has attached, sends the bounded mix. Its report goes to DIR/report, its log to DIR/log.
shop_profile()
{
	shop_seconds=$1
	shift
	: >"$shop_dir/log"
	"$@" -p "$shop_pid" -d "$shop_seconds" >"$shop_dir/report" 2>"$shop_dir/log" &
	shop_profiler_pid=$!
	shop_tries=0
	until grep -q attached "$shop_dir/log"; do
		shop_tries=$((shop_tries + 1))
		if [ "$shop_tries" -ge 100 ] || ! kill -0 "$shop_profiler_pid" 2>/dev/null; then
			cat "$shop_dir/log" >&2
			echo 'spanprof does not attach to the shop' >&2
			return 1
		fi
		sleep 0.1
	done
	"$shop_dir/shop" load -to "$shop_address" -seconds $((shop_seconds - 3)) \
		>"$shop_dir/load.log" 2>&1 &
	shop_load_pid=$!
	shop_status=0
	wait "$shop_load_pid" || {
		shop_status=$?
		cat "$shop_dir/load.log" >&2
	}
	shop_load_pid=
	wait "$shop_profiler_pid" || {
		shop_status=$?
		cat "$shop_dir/log" >&2
		echo "spanprof exited $shop_status" >&2
	}
	shop_profiler_pid=
	return "$shop_status"
}

# shop_end PID: a child of this shell, by force after 7 s (the shop gives its requests 5).
shop_end()
{
	kill "$1" 2>/dev/null || :
	shop_tries=0
	while [ "$shop_tries" -lt 70 ]; do
		case $(cat "/proc/$1/stat" 2>/dev/null) in
		'' | *') Z '*) break ;;
		esac
		sleep 0.1
		shop_tries=$((shop_tries + 1))
	done
	kill -9 "$1" 2>/dev/null || :
	wait "$1" 2>/dev/null || :
}

# shop_stop: ends what is still running of these, at any moment.
shop_stop()
{
	for shop_child in $shop_profiler_pid $shop_load_pid $shop_pid; do
		shop_end "$shop_child"
	done
	shop_profiler_pid='' shop_load_pid='' shop_pid=''
}
