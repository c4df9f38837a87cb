#!/bin/bash
# sides.sh COLLIDER WORKDIR - host code beside a kernel (sides.cu): one bug is one finding, at the line of
# the program that asked for the access, never in a library of the system nor in Collider's own code; what
# waits is silent. Built with `collider nvcc --host` and without, by the default and by the oracle alone.
set -u
here=$(cd "$(dirname "$0")" && pwd)
collider=$1
work=$2
[ "$(uname -m)" = x86_64 ] || exit 0 # host code is watched there
unset COLLIDER_OPTIONS
mkdir -p "$work" && cd "$work" || exit 2
bad=0

fail() {
	echo "FAIL: $*"
	bad=1
}

for how in "" --host; do
	"$collider" nvcc $how -O1 -g -std=c++17 -gencode arch=compute_90,code=compute_90 "$here/sides.cu" \
		-o "sides$how" 2>build.txt || { cat build.txt; exit 2; }
done

# What is found: one JSON line each, as LINES-OF-PROGRAM FILES
findings() {
	python3 - "$1" <<'P'
import json, os, sys
# The innermost frame that is in the program's own file.
def place(s):
    frames = [s] + s.get("inlined_at", [])
    own = [f for f in frames if "sides.cu" in (f.get("file") or "")] or frames
    return "%s:%s" % (os.path.basename(own[0].get("file") or "?"), own[0].get("line"))
for line in open(sys.argv[1]):
    o = json.loads(line)
    if o["type"] == "finding" and o["class"] == "data-race":
        sides = [o["side"], o["second"]] if "second" in o else [o]
        print(*sorted(map(place, sides)))
P
}

kernel=$(grep -n '// kernel' "$here/sides.cu" | cut -d: -f1)
for program in sides sides--host; do
	for detector in "" --detector=oracle; do
		for case in memcpy thread atomic qsort ${detector:-from memmove pointer memset strlen write}; do
			[[ $case != -* ]] || continue
			line=$(grep -n "// side: $case\$" "$here/sides.cu" | cut -d: -f1)
			"$collider" run --device=cpu --seed=1 $detector --json=r.json -- "./$program" $case >out 2>err ||
				fail "$program $case: exit code $?"
			found=$(findings r.json)
			want=$(printf 'sides.cu:%s\n' "$kernel" "$line" | sort | xargs)
			# The C library's sort both reads and writes its elements, for itself, too.
			[ $case = qsort ] && found=$(grep -x "$want" <<<"$found" | sort -u)
			[ "$found" = "$want" ] || fail "$program $case $detector: expected $want, found: $found"
			grep -qE 'libc\.so|libstdc|check\.c|atomic\.c|linked/' err && fail "$program $case $detector: a side of others"
		done
	done
	for case in memcpy strlen write qsort atomic thread; do
		"$collider" run --device=cpu --seed=1 --json=r.json -- "./$program" $case waits >out 2>err
		[ -z "$(findings r.json)" ] || fail "$program $case waits: $(findings r.json)"
	done
done
exit $bad
