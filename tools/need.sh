#!/bin/sh
# Installs the programs that the tests drive, where it may; else names them.
set -eu

missing=
need() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }
need redis-server redis-server
need redis-cli redis-tools
need chromium chromium
need gcc gcc
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing$missing"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null
else
	echo "The tests need programs that are not on this machine. On Debian or Ubuntu:" >&2
	echo "    sudo apt-get install -y$missing" >&2
	exit 1
fi
