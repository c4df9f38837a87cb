#!/bin/sh
# sweep.sh COLLIDER PROGRAM - collider sweep finds what single runs miss, is repeatable, goes on after a kill, is shared,
# and stops when nothing new comes.
set -eu
collider=$1
program=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cp "$program" app
export XDG_RUNTIME_DIR="$dir"
unset COLLIDER_OPTIONS COLLIDER_CPU PMIX_RANK OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID FLUX_TASK_RANK \
	PALS_RANKID SLURM_ARRAY_TASK_ID
failed=0

fail() {
	echo "FAILED: $*"
	tail -25 out | sed 's/^/  /'
	failed=1
}
# sweep CODE ARGUMENTS...
sweep() {
	want=$1 rc=0
	shift
	"$collider" sweep --device=cpu --detector=oracle --vary=seed "$@" >out 2>&1 || rc=$?
	[ $rc = "$want" ] || fail "exit code $rc, expected $want: $*"
}
has() { grep -qE -e "$1" out || fail "no line with '$1'"; }
runs() { ls "$1" | grep -c '\.jsonl$'; }
findings() { for i in 0 1 2 3 4 5 6 7; do grep '"type":"finding"' "$1/$i.jsonl" | grep -o '"seed":[0-9]*\|"line":[0-9]*' | head -2; echo "$i"; done; }

# A race that shows in some schedules: the command of the report shows it.
sweep 9 --error-exitcode=9 --runs=16 --dir=a -- ./app
has '^======== 1 data race found'
seen=$(sed -n 's/.*, in sometimes.*: in \([0-9]*\) of 16 runs$/\1/p' out)
[ "${seen:-0}" -gt 0 ] && [ "$seen" -lt 16 ] || fail "seen in '$seen' of 16 runs"
command=$(sed -n 's/^    collider run /run /p' out)
[ "$(echo "$command" | wc -l)" = 1 ] || fail "not one command"
case $command in *'--seed='*) ;; *) fail "no seed in '$command'" ;; esac
eval "\"$collider\" $command" >again 2>&1 || true
grep -q '1 data race found' again || fail "the command doesn't show it: $command"

# The same sweep again makes no run, but the one that tries the command; its report is the same.
grep -v '^ *Note' out >first
COUNT_RUNS=$dir/count sweep 9 --error-exitcode=9 --runs=16 --dir=a -- ./app
[ "$(wc -l <count)" -le 3 ] || fail "$(wc -l <count) runs for a finished sweep"
grep -v '^ *Note' out | cmp -s - first || fail "another report of the same runs"

# After a kill, what is missing is done.
rm a/3.jsonl a/7.jsonl && echo cut >a/9.part
sweep 0 --runs=16 --dir=a -- ./app
[ "$(runs a)" = 16 ] || fail "$(runs a) of 16 runs"

# Shares, in one folder, in any order, from the options or the launcher: the same runs.
sweep 0 --runs=8 --shard=1/2 --dir=b -- ./app
[ "$(runs b)" = 4 ] || fail "$(runs b) runs of a half"
SLURM_PROCID=0 SLURM_NTASKS=2 sweep 0 --runs=8 --dir=b -- ./app
[ "$(runs b)" = 8 ] || fail "$(runs b) runs of two halves"
findings a >one && findings b >two
cmp -s one two || fail "a share's runs differ from those of the whole"

# Where all is found again and again, it stops; unless it shall not.
sweep 0 --runs=60 --dir=c -- ./app all
n=$(runs c)
[ "$n" -ge 20 ] && [ "$n" -lt 60 ] || fail "$n of 60 runs"
has 'the later half of them brought nothing new'
has ', in always.*: in [0-9]+ of [0-9]+ runs$'
sweep 0 --runs=24 --all-runs --dir=c -- ./app all
[ "$(runs c)" -ge 24 ] || fail "--all-runs stopped"

# As many at once as there may be: the same runs, findings and commands, in the same order.
for jobs in 1 3; do
	sweep 0 --runs=12 --all-runs --jobs=$jobs --dir=j$jobs -- ./app all
	[ "$(grep -c '^    collider run ' out)" -ge 2 ] || fail "fewer than two commands"
	sed "s/ in j$jobs/ in DIR/" out | grep -v '^ *Note' >of$jobs
done
cmp -s of1 of3 || fail "--jobs=3 reports something else: $(diff of1 of3)"
rest=$(ls j3 | grep -v '^[0-9]*\.jsonl$' | tr '\n' ' ')
[ "$rest" = 'sweep ' ] || fail "files left in the folder: $rest"

# What is wrong is said before or at the first run.
for bad in 2/2 1 x/y 1/0 1/2x; do
	sweep 2 --shard=$bad --dir=d -- ./app
	has "^collider: error: --shard: found '$bad', expected I/N"
done
sweep 2 --save=x --dir=d -- ./app
has 'error: --save: a sweep keeps the reports'
sweep 2 --dir=d
has 'error: sweep needs a program'
sweep 1 --seed=5 --dir=a -- ./app
has 'error: --dir: a holds another sweep: seed=0 '
sweep 127 --dir=d -- ./nowhere
has 'error: run 0 wrote no report: .*nowhere: No such file'
sweep 1 --dir=none/below -- ./app
has 'error: --dir: none/below: No such file'
exit $failed
