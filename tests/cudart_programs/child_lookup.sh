#!/bin/sh
# child_lookup.sh COLLIDER PROGRAM LIBRARY - the runtime's children ask the dynamic linker for nothing
# (child_lookup.c), so none of them waits for a lock that another thread held when it was made.
set -eu
[ "$(uname -m)" = x86_64 ] || exit 0 # host code's accesses aren't watched elsewhere: there is no child
out=$(LD_PRELOAD=$3 "$1" run --device=cpu --detector=oracle --host-accesses -- "$2" read_beside 2>&1)
case $out in
*"looked up in a child"*) echo "a child has called dlsym()" >&2 ;;
*"of host code: read_beside"*) exit 0 ;;
*) echo "host code's accesses weren't watched" >&2 ;;
esac
echo "$out"
exit 1
