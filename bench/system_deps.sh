#!/bin/sh
# Install the distribution's packages that some tests drive, where they are missing and we are root.
# Without them those tests are skipped and say so.
set -u
missing=""
command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
command -v cyclictest >/dev/null 2>&1 || missing="$missing rt-tests"
command -v systemd-analyze >/dev/null 2>&1 || missing="$missing systemd"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "Not installed:$missing. Tests that need it will be skipped (apt-get install$missing)."
    exit 0
fi
echo "Installing$missing from the distribution's packages"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
    echo "Could not install$missing. Tests that need it will be skipped."
