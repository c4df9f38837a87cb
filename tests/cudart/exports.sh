#!/bin/sh
# exports.sh FACADE REAL - every symbol that the toolkit's runtime exports is in the facade, with the
# same version; nothing of ours is visible beside the driver's entry points that programs import and
# the C library's functions of src/cudart/threads.c and signals.c, which have no version, and what the
# host half calls.
set -e
export LC_ALL=C
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
nm -D --defined-only "$1" | awk '$2 == "T" {print $3}' | sed 's/@@/@/' | sort >"$tmp/ours"
nm -D --defined-only "$2" | awk '$2 == "T" {print $3}' | sed 's/@@/@/' | sort >"$tmp/theirs"
test -s "$tmp/theirs"
comm -13 "$tmp/ours" "$tmp/theirs" >"$tmp/missing"
comm -23 "$tmp/ours" "$tmp/theirs" | grep -v -e '^cuTensorMap' -e '^collider_cpu_' -e '^InitializeInjectionNvtx2@' -e '^__[alt]san_default_' \
	-e '^pthread_[a-z_]*$' -e '^sem_[a-z]*$' -e '^\(mtx\|cnd\|thrd\)_[a-z]*$' -e '^call_once$' \
	-e '^sigaction$' -e '^signal$' -e '^sigprocmask$' -e '^p\?\(read\|write\)v\(64\)\?$' \
	-e '^\(recv\|send\)msg$' >"$tmp/extra" || true
if [ -s "$tmp/missing" ] || [ -s "$tmp/extra" ]; then
	sed 's/^/missing: /' "$tmp/missing"
	sed 's/^/not in the real one: /' "$tmp/extra"
	exit 1
fi
