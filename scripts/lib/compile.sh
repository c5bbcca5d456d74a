# SPDX-License-Identifier: Apache-2.0
# Configures a build directory once and compiles it quietly; sourced from the top of the tree.
# shellcheck shell=sh

# compile DIR [CMAKE_OPTION...]: options are taken when DIR is configured for the first time.
compile()
{
	build_dir=$1
	shift
	if [ ! -e "$build_dir/build.ninja" ]; then
		echo "compiling into $build_dir/" >&2
		mkdir -p "$build_dir"
		cmake -S . -B "$build_dir" -G Ninja "$@" >"$build_dir/configure.log" 2>&1 || {
			cat "$build_dir/configure.log" >&2
			return 1
		}
	fi
	ninja --quiet -C "$build_dir" >"$build_dir/compile.log" 2>&1 || {
		cat "$build_dir/compile.log" >&2
		return 1
	}
	# Warnings, if any.
	grep -v '^ninja: no work to do' "$build_dir/compile.log" >&2 || :
}
