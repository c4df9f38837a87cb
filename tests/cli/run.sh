# run.sh - collider run around fake_app: the report comes out after every kind of end, the exit
# code is the program's, and nothing of ours goes to standard output.
. "$(dirname "$0")/lib.sh"
export COLLIDER_AGENT="$fake" # any file does: fake_app writes what an agent would
# A driver's library without anything in it: as on a machine with a GPU, as far as the start goes.
mkdir "$T/driver"
echo | cc -shared -x c - -o "$T/driver/libcuda.so.1"
export LD_LIBRARY_PATH="$T/driver" COLLIDER_OPTIONS=device=gpu

# Every end, with and without a finding.
for end in exit=0 exit=3 kill=9 kill=15; do
	case $end in
	exit=*) code=${end#exit=} ;;
	kill=*) code=$((128 + ${end#kill=})) ;;
	esac
	try $code "$collider" run -- "$fake" race say=hello $end
	is out hello
	has err "fake.cu:42"
	has err "fake_kernel"
	try $code "$collider" run -- "$fake" attach say=hello $end
	is out hello
	hasnt err "fake.cu:42"
	try $code "$collider" run --error-exitcode=99 -- "$fake" attach $end
	try 99 "$collider" run --error-exitcode=99 -- "$fake" race $end
done
try 137 "$collider" run "$fake" race kill=9
has err "killed by signal 9"
try 4 "$collider" run "$fake" fork race exit=4
has err "fake.cu:42"

# Only data races count for the exit code; what was never completed is no finding.
try 0 "$collider" run --error-exitcode=99 "$fake" possible
has err "fake.cu:42"
try 0 "$collider" run --error-exitcode=99 --show-possible=no "$fake" possible
try 0 "$collider" run --error-exitcode=99 "$fake" half-record
hasnt err "fake.cu:42"

# A program that never starts CUDA: nothing was checked, and the report says so, --quiet or not.
try 0 "$collider" run "$fake"
has err "NOTHING WAS CHECKED"
try 0 "$collider" run --quiet "$fake"
has err "NOTHING WAS CHECKED"
try 0 "$collider" run --quiet "$fake" attach
is err ""
try 0 "$collider" run -q "$fake" race
has err "fake.cu:42"

# What the program gets: its own arguments, and the variables.
# Where GPU code is instrumented as it is loaded, that is at its first use.
try 0 "$collider" run --quiet -- "$fake" attach env=CUDA_MODULE_LOADING env=CUDA_INJECTION64_PATH
is out "(unset)
$fake"
try 0 "$collider" run "$fake" attach
hasnt err EAGER
try 0 "$collider" run --load=off --quiet -- "$fake" attach env=CUDA_MODULE_LOADING
is out EAGER
try 0 "$collider" run --load=off "$fake" attach
has err "CUDA_MODULE_LOADING was set to EAGER"
export CUDA_MODULE_LOADING=LAZY
try 0 "$collider" run --load=off "$fake" attach env=CUDA_MODULE_LOADING
is out LAZY
hasnt err EAGER
unset CUDA_MODULE_LOADING
try 98 "$collider" run "$fake" --rdelay=5

# Programs that can't be run.
try 127 "$collider" run ./no-such-program
lines err 1
has err "collider: error: ./no-such-program: No such file or directory"
try 126 "$collider" run /
lines err 1
try 3 env COLLIDER_AGENT=/nonexistent/agent.so "$collider" run "$fake" say=hello
lines err 1
has err "the agent /nonexistent/agent.so: No such file or directory"
is out ""
try 1 "$collider" run --suppressions="$T/none" "$fake" say=hello
is out ""
has err "$T/none"

# The time limit: the program ends, its findings stay.
try 143 "$collider" run --timeout=2 "$fake" race sleep=600
has err "fake.cu:42"
has err "ended by --timeout=2"
try 0 "$collider" run --timeout=10m "$fake" race
hasnt err "ended by"

# Nothing was checked: an exit code of its own, for those who ask.
try 73 "$collider" run --fail-unchecked --error-exitcode=9 "$fake" exit=4
has err "error: --fail-unchecked: nothing was checked"
has err "isn't linked with CUDA"
try 73 "$collider" run --fail-unchecked /bin/true
try 4 "$collider" run --fail-unchecked "$fake" attach exit=4
hasnt err "--fail-unchecked"
try 9 "$collider" run --fail-unchecked --error-exitcode=9 "$fake" race
# What report is asked for and can't show.
try 1 "$collider" report --coverage="$T/no-such"
has err "error: --coverage: $T/no-such: No such file"
is out ""
# Partly checked: one, too, for the run and for its saved report.
try 0 "$collider" run --fail-partial "$fake" attach
has err "Complete: every access"
try 73 "$collider" run --fail-partial --save="$T/nothing.jsonl" "$fake"
try 74 "$collider" run --quiet --fail-partial --rate=4 --save="$T/part.jsonl" "$fake" attach
has err "one execution in 4 was checked"
has err "error: --fail-partial: not all of the run was checked"
try 74 "$collider" run --fail-partial "$fake" attach kill=6
has err "PARTIAL: the program was killed by signal 6"
try 134 "$collider" run --fail-unchecked "$fake" attach kill=6
try 9 "$collider" run --fail-partial --error-exitcode=9 --rate=4 --save="$T/race.jsonl" "$fake" race
try 74 "$collider" run --kernel-name='fake*,typo' --fail-partial "$fake" attach
has err "PARTIAL: --kernel-name=typo matched no kernel that was launched"
try 0 "$collider" run --kernel-name='fake*' --fail-partial "$fake" attach
try 73 "$collider" report --fail-partial "$T/nothing.jsonl"
try 73 "$collider" report --fail-unchecked "$T/nothing.jsonl"
try 0 "$collider" report --fail-unchecked "$T/part.jsonl"
try 74 "$collider" report --fail-partial "$T/part.jsonl"
has out "one execution in 4 was checked"
try 9 "$collider" report --fail-partial --error-exitcode=9 "$T/race.jsonl"
try 0 "$collider" report "$T/race.jsonl"
try 2 "$collider" report --coverage="$T/cov" "$T/race.jsonl"
# A report that is cut off, or has lines of a newer version, says so and is partial.
grep -v '"type":"summary"' "$T/race.jsonl" >"$T/cut.jsonl"
try 74 "$collider" report --fail-partial "$T/cut.jsonl"
has err "the report ends without its summary"
has out "cut.jsonl ends without its summary"
sed '2i{"type":"novelty","what":1}' "$T/race.jsonl" >"$T/new.jsonl"
try 0 "$collider" report "$T/new.jsonl"
has err "a line of type 'novelty'"
has out "has lines of type 'novelty', which this version doesn't know"

# The first race ends the program; what doesn't count for exit codes doesn't.
try 143 "$collider" run --halt-on-race "$fake" race sleep=600
has err "fake.cu:42"
has err "ended by --halt-on-race"
try 9 "$collider" run --halt-on-race --error-exitcode=9 "$fake" race sleep=600
try 137 "$collider" run --halt-on-race "$fake" stubborn race sleep=600
try 143 "$collider" run --halt-on-race --timeout=2 "$fake" possible sleep=600
has err "ended by --timeout=2"
echo 'race:fake_kernel' >"$T/halt"
try 143 "$collider" run --halt-on-race --timeout=2 --suppressions="$T/halt" "$fake" race sleep=600
has err "ended by --timeout=2"
try 0 "$collider" run --halt-on-race "$fake" attach

# SIGKILL to us: the program ends, and what it found is found.
export XDG_RUNTIME_DIR="$T/run"
mkdir "$T/run"
try 1 "$collider" report --rescue
has err "no collider run left a file in $T/run/collider"
"$collider" run "$fake" race say=ready stubborn sleep=600 >"$T/out" 2>"$T/err" &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	grep -q ready "$T/out" && break
	sleep 0.5
done
app=$(cat /proc/$pid/task/$pid/children)
kill -9 $pid
wait $pid 2>/dev/null
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	ls "$T/run/collider/"*.rescue >/dev/null 2>&1 && break
	sleep 0.5
done
for p in $app; do
	for i in 1 2 3 4 5 6 7 8 9 10; do
		grep -q '^State:	[^Z]' /proc/$p/status 2>/dev/null || break
		sleep 0.5
	done
	[ $i != 10 ] || fail "process $p is still there"
done
try 0 "$collider" report --rescue
has out "fake.cu:42"
has out "COLLIDER REPORT: $fake race say=ready stubborn sleep=600"
has out "rescued from $T/run/collider/"
try 0 "$collider" report --rescue --format=json "$T/run/collider/"*.rescue
has out '"verdict":"races"'
try 1 "$collider" report --rescue "$T/halt"
lines err 1
rm -r "$T/run/collider"
try 0 "$collider" run "$fake" race
[ ! -e "$T/run/collider" ] || fail "a run that ended by itself left a file"
unset XDG_RUNTIME_DIR

# Signals sent to us reach the program, and its report comes out.
"$collider" run "$fake" race say=ready sleep=600 >"$T/out" 2>"$T/err" &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	grep -q ready "$T/out" && break
	sleep 0.5
done
kill -TERM $pid
wait $pid
[ $? = 143 ] || fail "exit code after SIGTERM"
has err "fake.cu:42"

# Delays: presets, and which place wins. The JSON form says what the program was run with.
# delays R W ARGUMENTS...
delays() {
	r=$1 w=$2
	shift 2
	try 0 "$collider" run --format=json "$@" "$fake" attach
	grep -q "\"rdelay\": *$r\b" "$T/err" || fail "rdelay is not $r"
	grep -q "\"wdelay\": *$w\b" "$T/err" || fail "wdelay is not $w"
}
delays 5000 1
delays 1 1 --speed=fast
delays 5000 1 --speed=balanced
delays 5000 5000 --speed=thorough
delays 7 1 --speed=fast --rdelay=7
delays 7 9 --wdelay=9 --rdelay=7
export COLLIDER_OPTIONS=rdelay=20:wdelay=30:device=gpu
delays 20 30
delays 1 1 --speed=fast
delays 20 8 --wdelay=8
export COLLIDER_OPTIONS=rdelay=20:speed=thorough:device=gpu
delays 20 5000
export COLLIDER_OPTIONS=device=gpu

# Files: --log-file with the process number, --json, --save.
try 0 "$collider" run --log-file="$T/log.%p.%%p" "$fake" race
is err ""
set -- "$T"/log.[0-9]*.%p
[ -f "$1" ] && grep -q "fake.cu:42" "$1" || fail "no report in $1"
try 0 "$collider" run --log-file="$T/none/log" "$fake" race
has err "$T/none/log"
has err "fake.cu:42"
# A rank, a host and a variable are in the name, too.
unset PMIX_RANK OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID FLUX_TASK_RANK PALS_RANKID
try 0 env NAME=a SLURM_PROCID=7 "$collider" run --log-file="$T/%r.%h.%q{NAME}" "$fake" race
[ -s "$T/7.$(uname -n).a" ] || fail "no file with rank, host and variable in its name"
try 0 env NAME= SLURM_PROCID=7 PMI_RANK=3 "$collider" run --json="$T/%r%q{NAME}.jsonl" "$fake"
[ -s "$T/3.jsonl" ] || fail "the inner launcher's rank isn't taken"
try 0 env NAME=b "$collider" run --save="$T/%r.%q{NAME}" "$fake" race
[ -s "$T/0.b" ] || fail "the rank isn't 0 without a launcher"
for bad in '%q{NONE}' '%q' '%q{' '%x' 'end%'; do
	try 2 "$collider" run --log-file="$T/$bad" "$fake" say=hello
	lines err 1
	has err "error: --log-file: "
	is out ""
	try 1 "$collider" run --json="$T/$bad" "$fake" say=hello
	is out ""
done
# What can't be written is known before the program starts.
for option in json save coverage; do
	try 1 "$collider" run --$option="$T/none/file" "$fake" say=hello
	lines err 1
	has err "error: --$option: $T/none/file can't be written"
	is out ""
	try 1 "$collider" run --$option="$T" "$fake" say=hello
	is out ""
done
try 0 "$collider" run --json="$T/%p.jsonl" "$fake" say=hello race
is out hello
try 5 "$collider" run --json="$T/one.jsonl" --save="$T/two.jsonl" "$fake" race exit=5
has err "fake.cu:42"
grep -q "fake.cu" "$T/one.jsonl" || fail "no finding in --json"
grep -q "fake.cu" "$T/two.jsonl" || fail "no finding in --save"

# Saved reports are read back and merged: the counts add up.
try 0 "$collider" report "$T/two.jsonl"
has out "fake.cu:42"
is err ""
try 0 "$collider" report --format=json "$T/two.jsonl" "$T/one.jsonl"
grep -q '"count": *6\b' "$T/out" || fail "3 + 3 is not 6"
try 1 "$collider" report "$T/none.jsonl"
lines err 1
is out ""
echo 'not a report' >"$T/bad.jsonl"
try 1 "$collider" report "$T/two.jsonl" "$T/bad.jsonl"
has err "$T/bad.jsonl:1"
is out ""

# Suppressions: left out and counted, in the exit code too; --save keeps all.
echo 'race:fake_kernel' >"$T/rules"
try 0 "$collider" run --suppressions="$T/rules" --error-exitcode=9 --save="$T/all.jsonl" \
	"$fake" race
hasnt err "fake.cu:42"
has err "suppress"
try 0 "$collider" report "$T/all.jsonl"
has out "fake.cu:42"

# A file without end, and a limit of file sizes: errors in one line, and a report all the same.
try 1 "$collider" run --coverage=/dev/full "$fake" race
has err "/dev/full: error: File too large"
last="ulimit -f"
(ulimit -S -f 0; "$collider" run --json="$T/large.jsonl" "$fake" race exit=5) 2>&1 >"$T/out" | cat >"$T/err"
has err "fake.cu:42"
has err "large.jsonl"

# Colours only where asked for: a file is no terminal.
esc=$(printf '\033')
try 0 "$collider" run "$fake" race
hasnt err "$esc"
try 0 "$collider" run --color=always "$fake" race
has err "$esc"
finish
