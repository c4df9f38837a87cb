#!/bin/bash
# deb.sh BUILD - a Debian package: made by CPack, unpacked, and the program in it starts.
set -u
command -v dpkg-shlibdeps >/dev/null || { echo "skipped: dpkg-dev is missing"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
(cd "$1" && "${CPACK:-cpack}" -G DEB -B "$work/out" >"$work/log" 2>&1) || { cat "$work/log"; exit 1; }
deb=$(ls "$work"/out/collider_*.deb) || exit 1
dpkg-deb -f "$deb" Depends | grep -q libc6 || { dpkg-deb -f "$deb"; echo "FAIL: no dependencies"; exit 1; }
dpkg-deb -x "$deb" "$work/root" && "$work/root/usr/bin/collider" --version || exit 1
[ -e "$work/root/usr/lib/cmake/Collider/ColliderConfig.cmake" ] || { echo "FAIL: no CMake package"; exit 1; }
[ -e "$work/root/usr/lib/libcollider-ptx.so.1" ] || { echo "FAIL: no C library"; exit 1; }
[ "$(find "$work/root" -maxdepth 1 -mindepth 1)" = "$work/root/usr" ] || { echo "FAIL: files outside of /usr"; exit 1; }
