#!/bin/sh
# reduce.sh BUILD COLLIDER [PATTERN] - collider reduce ends within 60 runs for each race of this folder (PATTERN: of the
# programs), and its command shows the race in 10 of 10.
set -u
build=$1 collider=$2 pattern=${3-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export XDG_RUNTIME_DIR="$dir"
unset COLLIDER_OPTIONS COLLIDER_CPU
failed=0 n=0
for program in "$build"/bin/*; do
	name=$(basename "$program")
	case $name in
	*.fixed) continue ;;
	*"$pattern"*) ;;
	*) continue ;;
	esac
	[ ! -e "$program.racy" ] || continue # byte_*: the plain ones are race-free
	options=--device=cpu
	case $name in inter_gpu*) options="$options --cpu-devices=2" ;; esac
	cp "$program" app
	"$collider" run $options --seed=3 --save=found.jsonl -- ./app >out 2>&1
	"$collider" reduce $options found.jsonl -- ./app >out 2>&1
	n=$((n + 1))
	echo "$name: $(grep -m1 '^shows it' out || head -1 out)$(sed -n 's/^    collider run/:/p' out | head -1)"
	grep -qE '^shows it in 10 of 10 runs, found in [0-9]+$' out || failed=1
done
[ $n -gt 0 ] || failed=1
exit $failed
