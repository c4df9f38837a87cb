#!/bin/bash
# same_report.sh - the same seed gives the same report with any number of threads, as machine code or not.
#
#   same_report.sh COLLIDER PROGRAM|FOLDER...
#
# Each program runs with 1 and 4 threads, with machine code and without, with the default detectors, with the
# oracle alone and without any: exit code, output and report (--json, without the process number) must be equal
# to the byte. FOLDER: all programs in it. THREADS: other numbers than "1 4". SECONDS_EACH: what takes longer with
# one thread (default 20) is left out. A program whose runs with one thread already differ, as its host's
# threads race each other, says "varies", which fails unless VARIES=allowed. Arguments: the `// small:` line of
# tests/gpu/racefree. SKIP: names to leave out, as their host's threads race for the device.
set -u
here=$(cd "$(dirname "$0")" && pwd)
collider=$(readlink -f "$1")
shift
unset COLLIDER_OPTIONS COLLIDER_CPU COLLIDER_CUDART
export TZ=UTC LC_ALL=C
limit=${SECONDS_EACH:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 compared=0 varied=0 left=0

programs=()
for p in "$@"; do
	if [ -d "$p" ]; then
		for f in "$p"/*; do
			[ -f "$f" ] && [ -x "$f" ] && [ "${f%.so}" = "$f" ] && programs+=("$(readlink -f "$f")")
		done
	else
		programs+=("$(readlink -f "$p")")
	fi
done

# one NAME PROGRAM ARGUMENTS OPTIONS: files NAME.* in $work; 1: it took too long
one() {
	local name=$1 program=$2 args=$3 rc=0
	shift 3
	rm -rf "$work/cwd" && mkdir "$work/cwd"
	# shellcheck disable=SC2086
	(cd "$work/cwd" && timeout -k 5 "$limit" "$collider" run --device=cpu --color=never --seed=3 "$@" \
		--json="$work/$name.json" -- "$program" $args >"$work/$name.out" 2>"$work/$name.err" </dev/null) || rc=$?
	echo $rc >"$work/$name.rc"
	[ -e "$work/$name.json" ] || : >"$work/$name.json"
	sed -i -E 's/"pid":[0-9]+/"pid":0/g' "$work/$name.json"
	# Lines of the loader and of glibc have the process number, too.
	sed -i -E 's/==[0-9]+==/==0==/g' "$work/$name.err"
	[ $rc -ne 124 ] && [ $rc -ne 137 ]
}

# differ A B: which of their files
differ() {
	local f
	for f in rc out err json; do
		cmp -s "$work/$1.$f" "$work/$2.$f" || echo $f
	done
}

for program in "${programs[@]}"; do
	name=$(basename "$program")
	case " ${SKIP:-} " in *" $name "*) continue ;; esac
	args=$(sed -n 's,^// small: ,,p' "$here/../gpu/racefree/$name.cu" 2>/dev/null)
	for detector in "" --detector=oracle --detector=none; do
		# shellcheck disable=SC2086
		one first "$program" "$args" $detector --threads=1 --jit=off || { left=$((left + 1)); continue; }
		# shellcheck disable=SC2086
		for threads in ${THREADS:-1 4}; do
			for jit in off on; do
				[ "$threads$jit" != 1off ] || continue
				# shellcheck disable=SC2086
				one other "$program" "$args" $detector --threads="$threads" --jit=$jit
				what=$(differ first other)
				compared=$((compared + 1))
				[ -n "$what" ] || continue
				# shellcheck disable=SC2086
				one again "$program" "$args" $detector --threads=1 --jit=off
				if [ -n "$(differ first again)" ]; then
					echo "varies: $name $detector"
					varied=$((varied + 1))
					break 2
				fi
				echo "FAILED: $name $detector --threads=$threads --jit=$jit:" $what
				for f in $what; do
					diff <(sed 's/,"/\n"/g' "$work/first.$f") <(sed 's/,"/\n"/g' "$work/other.$f") |
						cut -c1-400 | head -6
				done
				failed=1
			done
		done
	done
done
echo "$compared runs compared of ${#programs[@]} programs; $varied vary by themselves, $left took too long"
[ $compared -gt 0 ] && [ $failed -eq 0 ] && { [ $varied -eq 0 ] || [ "${VARIES:-}" = allowed ]; }
