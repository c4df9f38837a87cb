#!/bin/bash
# replay.sh - what a run finds, its capsules show again.
#
#   replay.sh COLLIDER WORK kernels PROGRAM       each kernel of kernels.cu: _racy races, _right doesn't
#   replay.sh COLLIDER WORK same PROGRAM...       the pairs of lines that raced are the run's
set -u
collider=$(readlink -f "$1") work=$2 mode=$3
shift 3
unset COLLIDER_OPTIONS COLLIDER_CPU COLLIDER_CUDART
failed=0
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 2

fail() {
	echo "FAIL: $*"
	cat err out 2>/dev/null | head -40
	failed=1
}

# The races of a report as lines: the two places of each, in order.
pairs() {
	python3 - "$1" <<-'END'
	import json, sys
	seen = set()
	for line in open(sys.argv[1]):
	    o = json.loads(line)
	    if o.get("type") == "finding" and o["class"] == "data-race":
	        sides = sorted("%s:%s" % (s.get("file", ""), s.get("line", 0)) for s in o.get("sides", [o]))
	        seen.add(" ".join(sides))
	print("\n".join(sorted(seen)))
	END
}

# record PROGRAM: its capsules in kept/, its report in run.json.
record() {
	rm -rf kept
	# (Some end with a code of their own where the race shows.)
	"$collider" run --device=cpu --detector=oracle --capsules=kept --json=run.json --quiet -- "$1" \
		>out 2>err
	grep -q "files hold the program's data" err || fail "$1: no warning"
}

# judge RC OPTIONS CAPSULE...: the report in out, and in judge.json.
judge() {
	local rc=0 want=$1 options=$2
	shift 2
	rm -f judge.json
	"$collider" judge $options --json=judge.json "$@" >out 2>err || rc=$?
	[ $rc -eq "$want" ] || fail "judge $options $*: exit code $rc, expected $want"
}

same() {
	record "$1"
	judge 0 "" kept/*.capsule
	pairs run.json >run.pairs
	pairs judge.json >judge.pairs
	cmp -s run.pairs judge.pairs || {
		fail "$1: other pairs than the run's"
		diff run.pairs judge.pairs
	}
}

if [ "$mode" = same ]; then
	for program; do
		same "$program"
	done
	exit $failed
fi

# The run itself finds each of the racy ones, and nothing else.
same "$1"
kernels=$(ls kept/*.capsule | wc -l)
[ "$kernels" -eq 11 ] || fail "$kernels capsules, expected 11"
for name in found list whole halves texels; do
	judge 9 "--error-exitcode=9 --fail-partial --judge-seeds=2" kept/*"${name}"_racy*.capsule
	grep -q '"judged":"on the CPU device: .*launch [0-9]*, as .*'"$name"'_racy.*capsule holds it' judge.json ||
		fail "$name: who judged it isn't said"
	grep -q "Judged       : on the CPU device" out || fail "$name: nor in the text"
	judge 0 "--error-exitcode=9 --fail-partial --judge-seeds=2" kept/*"${name}"_right*.capsule
	grep -q "no race seen" out || fail "$name: its twin"
done
# Other seeds and another memory model; jobs change nothing.
judge 9 "--error-exitcode=9 --seed=40 --judge-seeds=4 --jobs=2 --memory-model=weak" kept/*.capsule

# Some blocks of a grid: the rest is said to be missing, and where these wait for it, that.
judge 9 "--error-exitcode=9 --judge-blocks=2" kept/*list_racy*.capsule
judge 74 "--error-exitcode=9 --fail-partial --judge-blocks=2" kept/*halves_right*.capsule
grep -q "2 of 4 blocks of launch [0-9]*" out || fail "two of four blocks"
judge 74 "--error-exitcode=9 --fail-partial --judge-blocks=2" kept/*whole_right*.capsule
grep -q "2 of 4 blocks of launch [0-9]*, which wait for others" out || fail "two that wait for two"

# What can't be judged is one line.
head -c 500 kept/0001-*.capsule >cut.capsule
judge 1 "" cut.capsule kept/0002-*.capsule
[ "$(wc -l <err)" -eq 1 ] && grep -q "cut.capsule: cut off or damaged" err || fail "a capsule that is cut off"
echo text >other.capsule
judge 1 "" other.capsule
grep -q "other.capsule: not a capsule" err || fail "a text"
judge 1 "" missing.capsule
grep -q "missing.capsule: No such file" err || fail "no file"
judge 2 ""
# Nor does a folder that can't be made start the program.
"$collider" run --device=cpu --capsules=no/such/folder -- true 2>err && fail "no folder: exit code 0"
grep -q "error: --capsules: no/such/folder: No such file" err || fail "no folder"
exit $failed
