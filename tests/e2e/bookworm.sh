#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# README's two commands on a clean clone in a fresh Debian 12 root: each installs what it needs.
# Tier: full
# Time limit: 1800
set -eu
exec "$(dirname "$0")/debian-root.sh" bookworm \
	sh -c 'scripts/demo && scripts/test'
