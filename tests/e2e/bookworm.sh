#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A clean clone builds and shows its demo in a fresh Debian 12 root, installing what it needs.
# Tier: full
# Time limit: 900
set -eu
exec "$(dirname "$0")/debian-root.sh" bookworm scripts/demo
