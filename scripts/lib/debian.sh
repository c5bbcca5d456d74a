# SPDX-License-Identifier: Apache-2.0
# Reaches Debian's archive as this machine's own apt does, for other releases; sourced, not run.
# shellcheck shell=sh

# debian_mirror, debian_security_mirror: addresses as apt has them, without a slash at the end.
debian_mirror()
{
	debian_site Debian
}

debian_security_mirror()
{
	site=$(debian_site Debian-Security)
	echo "${site:-$(debian_mirror | sed 's#/debian$##')/debian-security}"
}

# debian_site LABEL: where the first index with that label in its Release file comes from.
debian_site()
{
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(LABEL) $(SITE)' | sed -n "s#^$1 \\(.*[^/]\\)/*\$#\\1#p" | head -1
}

# debian_sources ARCH SUITE...: lines for sources.list; NAME-security comes from its own mirror.
debian_sources()
{
	sources_arch=$1
	shift
	for source_suite; do
		case $source_suite in
		*-security) mirror=$(debian_security_mirror) ;;
		*) mirror=$(debian_mirror) ;;
		esac
		[ -n "$mirror" ] || return 1
		echo "deb [arch=$sources_arch signed-by=$debian_keyring] $mirror $source_suite main"
	done
}
debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# private_apt DIR ARCH SUITE...: an apt of its own in DIR, so that the machine's sources and
# package state stay untouched; sets and exports APT_CONFIG and fetches the indexes.
private_apt()
{
	apt_dir=$1 apt_arch=$2
	shift 2
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial" "$apt_dir/debs"
	: >"$apt_dir/status"
	debian_sources "$apt_arch" "$@" >"$apt_dir/sources.list" || {
		echo "this machine's apt names no Debian mirror" >&2
		return 1
	}
	cat >"$apt_dir/apt.conf" <<-END
		Dir::Etc::sourcelist "$apt_dir/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
		Dir::State "$apt_dir";
		Dir::State::lists "$apt_dir/lists";
		Dir::State::status "$apt_dir/status";
		Dir::Cache "$apt_dir/cache";
		APT::Architecture "$apt_arch";
		APT::Architectures { "$apt_arch"; };
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
	END
	APT_CONFIG=$apt_dir/apt.conf
	export APT_CONFIG
	apt-get -q update >&2
}

# unpack_packages APT_DIR DESTINATION NAME...: fetched and unpacked, nothing is installed.
unpack_packages()
{
	apt_dir=$1 destination=$2
	shift 2
	rm -rf "$apt_dir/debs"
	mkdir -p "$apt_dir/debs" "$destination"
	(cd "$apt_dir/debs" && apt-get -q download "$@" >&2) || return 1
	for package in "$apt_dir"/debs/*.deb; do
		dpkg -x "$package" "$destination" || return 1
	done
}
