#!/bin/sh
# system.sh - detector watch between host code and kernels, and between devices: system.sh COLLIDER
# PROGRAM SEEDS. Each mode of system.cu is reported as its name says, in every run on the CPU device; the
# oracle, which sees host code by its pages, says the same; and one seed gives one report.
set -u
collider=$1
program=$2
seeds=$3
bad=0
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
export COLLIDER_OPTIONS=cpu-devices=2

# findings DETECTOR SEED MODE: the classes and kinds of what is reported, each once
findings() {
	"$collider" run --device=cpu --detector="$1" --host-accesses --dense=0 --seed="$2" --format=json \
		--log-file="$tmp/report" -- "$program" "$3" >"$tmp/out" 2>&1
	rc=$?
	[ $rc -le 1 ] || echo "exit code $rc: $(tail -1 "$tmp/out")"
	python3 - "$tmp/report" <<'P'
import json, sys
found = set()
for f in map(json.loads, open(sys.argv[1])):
    if f["type"] != "finding":
        continue
    both = bool(f["line"] and (f.get("second") or {}).get("line"))
    found.add(f"{f['class']} {f['kind']} {'both' if both else 'one'}")
print(*sorted(found), sep=", ")
P
}

for mode in $(grep -o '"[a-z_]*_\(race\|clean\)"' "$(dirname "$0")/system.cu" | tr -d '"' | sort -u); do
	oracle=$(findings oracle 1 "$mode")
	for seed in $(seq "$seeds"); do
		watch=$(findings watch "$seed" "$mode")
		[ "$seed" -gt 1 ] || [ -z "$watch" ] || [ "$watch" = "$(findings watch 1 "$mode")" ] ||
			{ echo "FAIL $mode: seed 1 gives two reports"; bad=1; }
		case $mode in
		*_race)
			case $watch in *"data-race watched both"*) ;; *) false ;; esac &&
				case $oracle in *data-race*) ;; *) false ;; esac
			;;
		*) [ -z "$watch$oracle" ] ;;
		esac || { echo "FAIL $mode, seed $seed: watch '$watch', oracle '$oracle'"; bad=1; }
	done
done
exit $bad
