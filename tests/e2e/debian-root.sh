#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command on a clean clone of HEAD in a fresh minimal Debian root; a tool, not a test.
# Tier: none
#
#   tests/e2e/debian-root.sh SUITE COMMAND [ARG...]      SUITE: bookworm, trixie, ...
#
# The bootstrapped root is kept in the cache; each run works on a copy that is removed after it.
# Mounts live in a mount namespace of their own, which the kernel takes down with the last
# process, however it ends. Packages and Go modules come the way they come outside.
# Environment: SPANPROF_ROOTS  the cache (default ~/.cache/spanprof/roots)
# Exit status: the command's; 77 the root could not be fetched.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/scripts/lib/packages.sh"
. "$top/scripts/lib/debian.sh"
[ $# -ge 2 ] || {
	echo 'usage: debian-root.sh SUITE COMMAND [ARG...]' >&2
	exit 2
}
[ "$(id -u)" = 0 ] || {
	echo 'debian-root.sh: needs root' >&2
	exit 1
}
suite=$1
shift
# shellcheck disable=SC2086
need_packages $packages_root
roots=${SPANPROF_ROOTS:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/spanprof/roots}
pristine=$roots/$suite
mkdir -p "$roots"

if [ ! -d "$pristine" ]; then
	rm -rf "$pristine.new"
	debootstrap --variant=minbase --keyring="$debian_keyring" "$suite" "$pristine.new" \
		"$(debian_mirror)" >"$roots/$suite.log" 2>&1 || {
		tail -5 "$roots/$suite.log" >&2
		echo "debian-root.sh: could not fetch $suite" >&2
		exit 77
	}
	rm -rf "$pristine.new/var/cache/apt/archives/"*.deb
	mv "$pristine.new" "$pristine"
fi

root=$(mktemp -d "$roots/run.XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT
trap 'exit 130' INT TERM
cp -a --reflink=auto "$pristine/." "$root/"
git clone -q --no-hardlinks "$top" "$root/src/spanprof"

# The way out: name resolution, apt's settings, the certificates that this machine trusts.
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*; do
	case $(basename "$file") in
	*proxy* | apt.conf) [ ! -f "$file" ] || cp "$file" "$root$file" ;;
	esac
done
debian_sources "$(dpkg --print-architecture)" "$suite" "$suite-updates" "$suite-security" \
	>"$root/etc/apt/sources.list"
certificates=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
[ ! -f "$certificates" ] || cp -L "$certificates" "$root/etc/outside-certificates.crt"
{
	echo 'export SSL_CERT_FILE=/etc/outside-certificates.crt'
	env | grep -iE '^(https?|no)_proxy=' | sed "s/'/'\\\\''/g; s/^\\([^=]*\\)=\\(.*\\)/export \\1='\\2'/" || :
	if command -v go >/dev/null; then
		for name in GOPROXY GOFLAGS GOSUMDB GONOSUMDB GONOPROXY GOPRIVATE GOINSECURE; do
			printf "export %s='%s'\n" "$name" "$(go env "$name")"
		done
	fi
} >"$root/etc/outside-settings"

cat >"$root/enter" <<'END'
#!/bin/sh
set -e
root=$1
shift
mount --rbind --make-rslave /dev "$root/dev"
mount --rbind --make-rslave /sys "$root/sys"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"
exec chroot "$root" /usr/bin/env -i HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 \
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	/bin/sh -c '. /etc/outside-settings && cd /src/spanprof && exec "$@"' sh "$@"
END
started=$(date +%s)
status=0
unshare --mount --propagation private /bin/sh "$root/enter" "$root" "$@" || status=$?
echo "debian-root.sh: $suite: $1 exited $status after $(($(date +%s) - started)) s" >&2
exit "$status"
