# SPDX-License-Identifier: Apache-2.0
# Builds, starts, loads and stops tests/targets/shop; sourced from the top of the tree.
# shellcheck shell=sh

shop_pid='' shop_load_pid='' shop_address=''

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

# shop_load SECONDS: sends the mix in the background.
shop_load()
{
	"$shop_dir/shop" load -to "$shop_address" -seconds "$1" >"$shop_dir/load.log" 2>&1 &
	shop_load_pid=$!
}

# shop_wait: until the load, which is bounded, has had its last answer.
shop_wait()
{
	shop_status=0
	wait "$shop_load_pid" || shop_status=$?
	shop_load_pid=
	[ "$shop_status" = 0 ] || cat "$shop_dir/load.log" >&2
	return "$shop_status"
}

# shop_stop: ends what is still running of both, at any moment.
shop_stop()
{
	for shop_child in $shop_load_pid $shop_pid; do
		kill "$shop_child" 2>/dev/null || :
		wait "$shop_child" 2>/dev/null || :
	done
	shop_load_pid='' shop_pid=''
}
