#!/bin/sh
# exports.sh LIBRARY STUB - the driver's library has every function of the toolkit's stub and no
# other, and the stub's SONAME.
set -e
export LC_ALL=C
if ! [ -e "$2" ]; then
	echo "this toolkit has no stub of the driver"
	exit 77
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
nm -D --defined-only "$1" | awk '$2 == "T" {print $3}' | grep '^cu' | sort >"$tmp/ours"
nm -D --defined-only "$2" | awk '$2 == "T" {print $3}' | grep '^cu' | sort >"$tmp/theirs"
test -s "$tmp/theirs"
diff "$tmp/ours" "$tmp/theirs"
objdump -p "$1" | grep -q 'SONAME *libcuda.so.1$'
