#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every sample of a service whose truth is known carries the right span and the right stack.
# Time limit: 420
#
#   tests/e2e/truth.sh BUILD_DIR [SECONDS] [BUILD...]
#   BUILD: default stripped stripped-pie race unoptimized
set -eu
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
. tests/e2e/verify/profile.sh
spanprof=${1:?usage: truth.sh BUILD_DIR [SECONDS] [BUILD...]}/spanprof
seconds=15
[ "${SPANPROF_TIER:-default}" != full ] || seconds=30
[ $# -lt 2 ] || seconds=$2
hertz=199
if [ $# -gt 2 ]; then
	shift 2
else
	set -- stripped-pie
	[ "${SPANPROF_TIER:-default}" != full ] || set -- default "$@" stripped race unoptimized
fi

flags_of()
{
	case $1 in
	default) ;;
	stripped) echo '-ldflags=-s -w' ;;
	stripped-pie) printf '%s\n' '-ldflags=-s -w' -buildmode=pie ;;
	race) echo -race ;;
	unoptimized) echo '-gcflags=all=-N -l' ;;
	*)
		echo "truth.sh: no build $1" >&2
		return 2
		;;
	esac
}

go_build tests/e2e/verify "$work/verify"
(cd tests/e2e/verify && go test ./...)
for name; do
	flags=$(flags_of "$name")
	IFS='
'
	# shellcheck disable=SC2086
	go_build tests/targets/truth "$work/truth-$name" $flags
	unset IFS
	echo "-- $name, $seconds s at $hertz Hz"
	if truth_profile "$spanprof" "$work/truth-$name" "$seconds" "$hertz"; then
		cat "$work/truth.out"
		truth_verify "$hertz" -show 5 || fail "$name: not right"
	else
		fail "$name: no profile"
	fi
	rm -f "$work/truth-$name"
done
verdict
