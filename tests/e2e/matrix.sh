#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Spans are right with every SDK, every Go and every way to build: samples of the truth program.
# Tier: full
# Time limit: 3000
#
#   tests/e2e/matrix.sh BUILD_DIR [CELL...]
#   CELL: SDK/GO/KIND, or a shell pattern for some of them: '1.0.1/*' '*/race'
#
# A cell fails when one sample carries a wrong span, or when fewer than 99.9 % of those in spans
# carry theirs, spans older than the attach included; or when another figure of verify does. What
# an SDK or a Go needs is fetched; a cell that could not be fetched is no pass (exit 77).
set -eu
cd "$(dirname "$0")/../.."
. scripts/lib/go.sh
. scripts/lib/e2e.sh
. tests/e2e/verify/profile.sh
spanprof=${1:?usage: matrix.sh BUILD_DIR [CELL...]}/spanprof
shift
[ $# -gt 0 ] || set -- '*'
seconds=16 hertz=199

# Every SDK with the oldest and the newest Go that build it. Layouts of the span differ between
# 1.3, 1.7, 1.17 and 1.20; those of the runtime between most versions of Go.
cells='
1.0.1/1.18/default 1.0.1/1.18/stripped-pie 1.0.1/1.22/race 1.0.1/1.27/stripped
1.0.1/1.27/pgo-starts
1.3.0/1.18/race 1.3.0/1.20/static 1.3.0/1.25/pgo 1.3.0/1.27/unoptimized
1.7.0/1.18/unoptimized 1.7.0/1.19/pie 1.7.0/1.24/vendored 1.7.0/1.27/static-glibc
1.11.1/1.18/static-glibc 1.11.1/1.23/trimpath 1.11.1/1.27/pie
1.14.0/1.18/external-pie 1.14.0/1.21/pgo-starts 1.14.0/1.27/race
1.17.0/1.19/default 1.17.0/1.19/vendored 1.17.0/1.22/stripped 1.17.0/1.27/external-pie
1.20.0/1.20/default 1.20.0/1.21/stripped-pie 1.20.0/1.26/static 1.20.0/1.27/trimpath
1.24.0/1.20/static-glibc 1.24.0/1.20/stripped-pie 1.24.0/1.27/vendored
1.28.0/1.21/unoptimized 1.28.0/1.25/static-glibc 1.28.0/1.27/default
1.32.0/1.22/pgo 1.32.0/1.26/race 1.32.0/1.27/stripped-pie
1.35.0/1.22/external-pie 1.35.0/1.24/stripped 1.35.0/1.27/pgo
1.38.0/1.23/default 1.38.0/1.23/pgo-starts 1.38.0/1.27/static
1.40.0/1.24/pie 1.40.0/1.25/race 1.40.0/1.27/unoptimized
1.44.0/1.25/trimpath 1.44.0/1.26/external-pie 1.44.0/1.27/vendored
1.47.0/1.26/default 1.47.0/1.26/stripped 1.47.0/1.26/unoptimized 1.47.0/1.27/pgo-starts
1.47.0/1.27/race 1.47.0/1.27/stripped-pie'

# release MINOR: the newest one.
release()
{
	case $1 in
	1.18) echo 1.18.10 ;;
	1.19) echo 1.19.13 ;;
	1.20) echo 1.20.14 ;;
	1.21) echo 1.21.13 ;;
	1.22) echo 1.22.12 ;;
	1.23) echo 1.23.12 ;;
	1.24) echo 1.24.13 ;;
	1.25) echo 1.25.14 ;;
	1.26) echo "$go_fetched" ;;
	1.27) echo 1.27.4 ;;
	*)
		echo "matrix.sh: no Go $1" >&2
		return 1
		;;
	esac
}

# flags_of KIND: one a line.
flags_of()
{
	case $1 in
	default | static) ;;
	stripped) echo '-ldflags=-s -w' ;;
	pie) echo -buildmode=pie ;;
	stripped-pie) printf '%s\n' '-ldflags=-s -w' -buildmode=pie ;;
	external-pie) printf '%s\n' -ldflags=-linkmode=external -buildmode=pie ;;
	static-glibc) echo '-ldflags=-linkmode=external -extldflags=-static' ;;
	race) echo -race ;;
	unoptimized) echo '-gcflags=all=-N -l' ;;
	trimpath) echo -trimpath ;;
	vendored) echo -mod=vendor ;;
	pgo | pgo-starts) echo "-pgo=$work/profile" ;;
	*)
		echo "matrix.sh: no kind $1" >&2
		return 1
		;;
	esac
}

# get_profile KIND: a CPU profile of this very program, kept from run to run: with the same profile
# the build cache holds.
get_profile()
{
	kept=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/spanprof/pgo
	kept=$kept/$sdk-$go_version-$1-$(cat tests/targets/truth/*.go | cksum | tr ' ' -)
	if [ ! -s "$kept" ]; then
		starts=
		[ "$1" = pgo ] || starts=-profile-starts
		mkdir -p "$(dirname "$kept")"
		(cd "$work/module" && go build -o "$work/unprofiled" .) &&
			"$work/unprofiled" -seconds 4 -profile "$kept.new" $starts &&
			mv "$kept.new" "$kept" || return 1
	fi
	cp "$kept" "$work/profile"
}

# build KIND: $work/truth, which tells of itself what it was asked to be.
build()
{
	rm -f "$work/truth"
	CGO_ENABLED=1
	[ "$1" != static ] || CGO_ENABLED=0
	export CGO_ENABLED
	flags=$(flags_of "$1") || return 1
	case $1 in
	pgo*) get_profile "$1" || return 1 ;;
	esac
	(
		cd "$work/module"
		[ "$1" != vendored ] || go mod vendor || exit 1
		IFS='
'
		# shellcheck disable=SC2086
		go build -o "$work/truth" $flags .
	) || return 1
	go version -m "$work/truth" >"$work/said"
	grep -q ": go$go_version\$" "$work/said" &&
		grep -q "go.opentelemetry.io/otel/sdk.v$sdk\b" "$work/said"
}

# try CELL: its line of the table in $work/line.
try()
{
	sdk=${1%%/*} kind=${1##*/} minor=${1#*/}
	minor=${minor%/*}
	go_version=$(release "$minor") || return 1
	export GOTOOLCHAIN="go$go_version" GOFLAGS=
	module_with_sdk "$sdk" "$minor" tests/targets/truth "$work/module" >"$work/build.log" 2>&1 || {
		cat "$work/build.log" >&2
		return 77
	}
	build "$kind" >"$work/build.log" 2>&1 || {
		cat "$work/build.log" "$work/said" >&2
		echo 'not built' >"$work/line"
		return 1
	}
	truth_profile "$spanprof" "$work/truth" "$seconds" "$hertz" || {
		echo 'no profile' >"$work/line"
		return 1
	}
	judged=0
	# CPU time is judged by truth.sh, in longer runs.
	truth_verify "$hertz" -older -max-wrong 0 -slope 0.15 -show 10 >"$work/verdict" 2>&1 || judged=1
	sed -n 's/^ *total: //p' "$work/verdict" >"$work/line"
	if [ "$judged" != 0 ]; then
		cat "$work/verdict" "$work/log" >&2
	fi
	return $judged
}

go_build tests/e2e/verify "$work/verify"
unfetched=0 tried=0
for cell in $cells; do
	chosen=
	for pattern; do
		# shellcheck disable=SC2254
		case $cell in
		$pattern) chosen=yes ;;
		esac
	done
	[ -n "$chosen" ] || continue
	before=$(date +%s) status=0 tried=$((tried + 1))
	: >"$work/line"
	try "$cell" || status=$?
	case $status in
	0) said=right ;;
	77) said='could not fetch' unfetched=$((unfetched + 1)) ;;
	*) said=FAILED e2e_failures=$((e2e_failures + 1)) ;;
	esac
	printf '%-24s %-72s %3s s  %s\n' "$cell" "$(cat "$work/line")" \
		"$(($(date +%s) - before))" "$said" | tee -a "$work/table"
done
echo
cat "$work/table"
echo "$tried cells, $e2e_failures failed, $unfetched could not be fetched"
[ "$tried" -gt 0 ] || fail 'no such cell'
[ "$e2e_failures" != 0 ] || [ "$unfetched" = 0 ] || exit 77
verdict
