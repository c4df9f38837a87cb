#!/bin/sh
# ranks.sh STAND_IN|mpi COLLIDER PROGRAM [COLLIDER_MPI] - ranks share a sweep's runs: the runs and findings of one process, each
# run made once, and none lost with a rank. The first argument carries the messages: processes and sockets, or MPI.
set -u
carrier=$1 collider=$2 program=$3 mpi=${4-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$program" "$dir/app" && cd "$dir" || exit 1
export XDG_RUNTIME_DIR="$dir" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset COLLIDER_OPTIONS COLLIDER_CPU
options="--device=cpu --detector=oracle --vary=seed --all-runs"
failed=0

fail() {
	echo "FAILED: $*"
	tail -15 out | sed 's/^/  /'
	failed=1
}
# ranks N LOSE ARGUMENTS...
ranks() {
	n=$1 lose=$2 rc=0
	shift 2
	if [ "$carrier" = mpi ]; then
		mpirun --oversubscribe -n "$n" "$mpi" $options "$@" >out 2>&1 || rc=$?
	else
		"$carrier" "$collider" "$n" "$lose" $options "$@" >out 2>&1 || rc=$?
	fi
}
runs() { ls "$1" | grep -c '\.jsonl$'; }
findings() { for f in "$1"/*.jsonl; do basename "$f" && grep -o '"fingerprint":"[0-9a-f]*' "$f"; done; }

"$collider" sweep $options --runs=10 --dir=one -- ./app >alone 2>&1
export COUNT_RUNS="$dir/count"
ranks 3 0 --runs=10 --dir=a -- ./app
[ $rc = 0 ] || fail "exit code $rc"
[ "$(runs a)" = 10 ] || fail "$(runs a) of 10 runs"
findings one >first
findings a >second
cmp -s first second || fail "the ranks' runs differ"
unset COUNT_RUNS
if [ "$carrier" = mpi ]; then
	grep -q '10 of 10 runs in a' out || fail "no report"
	"$collider" sweep $options --runs=10 --dir=a -- ./app >again 2>&1
	sed '/^ *Note/d; s/\x1b[[0-9;]*m//g' out >shown
	grep -v '^ *Note' again | cmp -s - shown || fail "another report"
else
	[ "$(wc -l <count)" = 10 ] || fail "$(wc -l <count) runs were made"
	grep -q '^whole' out || fail "a rank was lost"
fi

# A rank that is killed loses no run that has ended; with MPI the job ends, and the next start goes on.
if [ "$carrier" = mpi ]; then
	mpirun --oversubscribe -n 3 "$mpi" $options --runs=60 --dir=b -- ./app >out 2>&1 &
	i=0
	while [ "$(runs b 2>/dev/null)" -lt 5 ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done
	victim=$(pgrep -P $! -f 'collider-mpi' | tail -1)
	kill -9 "$victim"
	wait $!
	before=$(runs b)
	ls -l --time-style=full-iso b/*.jsonl | awk '{print $6, $7, $9}' >times
	[ "$before" -ge 5 ] && [ "$before" -lt 60 ] || fail "$before runs when a rank was killed"
	ranks 3 0 --runs=60 --dir=b -- ./app
	[ "$(runs b)" = 60 ] || fail "$(runs b) of 60 runs after the second start"
	ls -l --time-style=full-iso b/*.jsonl | awk '{print $6, $7, $9}' | grep -cxFf times >same
	[ "$(cat same)" = "$before" ] || fail "finished runs were made again"
else
	ranks 3 2 --runs=10 --dir=b -- ./app
	[ $rc = 0 ] || fail "exit code $rc with a lost rank"
	grep -q '^a rank is lost' out || fail "no word of the lost rank"
	findings b >second
	cmp -s first second || fail "a lost rank's runs are missing"
fi

# What is wrong with the program or an option ends all.
ranks 2 0 --runs=4 --dir=c -- ./nowhere
[ $rc = 127 ] || fail "exit code $rc for a program that isn't there"
grep -q 'run [0-9]* wrote no report: .*nowhere: No such file' out || fail "no reason"
ranks 2 0 --vary=nothing --dir=c -- ./app
[ $rc = 2 ] || fail "exit code $rc for a wrong option"
exit $failed
