#!/bin/sh
# files.sh COLLIDER FAKE_APP SOURCE-FOLDER - files that can't be read or written, for each option that names one: a pipe without
# another end, a folder, a full device, a file in a folder that isn't there, and (not as root) without permission. One line
# says so, with the documented exit code, in time, and no half of a file is left. Pipes with both ends work.
set -u
collider=$1 program=$2 ptx=$3/tests/corpus/pairs.ptx
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
unset COLLIDER_OPTIONS COLLIDER_CPU
failed=0
fail() {
	echo "FAILED: $*"
	sed 's/^/  /' err
	failed=1
}
mkfifo pipe
mkdir folder
echo old >closed
chmod 0 closed
run="run --device=cpu --detector=oracle"
"$collider" $run --save=good.jsonl --log-file=/dev/null -- "$program" attach say=ran >/dev/null 2>err || fail "the run itself"
cat "$ptx" >good.ptx

# go CODE LINES ARGUMENTS: so many lines that name the file; another code is of the program or of the verdict
go() {
	want=$1 lines=$2 rc=0
	shift 2
	timeout 60 "$collider" "$@" >"$dir/out" 2>err </dev/null || rc=$?
	[ $rc = "$want" ] || fail "$*: exit code $rc, expected $want"
	n=$(grep -c "$file" err)
	[ "$n" = "$lines" ] || fail "$*: $n lines with $file, expected $lines"
	! ls | grep -Ev '^(pipe|folder|closed|good.ptx|good.jsonl|out|err)$' || fail "$*: leaves a file"
	[ -p pipe ] && [ -d folder ] || fail "$*: replaces a file"
}
bad="pipe folder missing/file"
[ "$(id -u)" = 0 ] || bad="$bad closed"

# To be read.
for file in $bad missing; do
	go 1 1 prove "$file"
	go 1 1 report "$file"
	go 1 1 report --rescue "$file"
	[ "$file" != pipe ] || continue # each waits five seconds for the other end
	go 1 1 prove "$file.ptx"
	go 1 1 instrument "$file"
	go 1 1 report --suppressions="$file" good.jsonl
	go 1 1 judge "$file"
	go 1 1 prove --launches="$file" good.ptx
	go 1 1 suppress "$file"
	go 1 1 history --db=folder/db add "$file"
	rm -f folder/db*
	go 1 1 run --device=cpu --suppressions="$file" -- "$program" attach say=ran
	go 1 1 run --device=cpu --replay="$file" -- "$program" attach say=ran
done

# To be written: before the program starts, ...
for file in folder missing/file ${bad#*file}; do
	for option in json save coverage record-launches; do
		go 1 1 $run --$option="$file" -- "$program" attach say=ran
		[ ! -s out ] || fail "--$option=$file: the program has run"
	done
	go 0 1 $run --log-file="$file" -- "$program" attach say=ran
	go 1 1 instrument good.ptx -o "$file"
done
# ... or at its end, which has the program's exit code.
for file in pipe /dev/full; do
	for option in json log-file; do
		go 0 1 $run --$option="$file" -- "$program" attach say=ran
	done
	go 1 1 instrument good.ptx -o "$file"
done
file=pipe
go 1 1 $run --record-launches=pipe -- "$program" attach say=ran

# Both ends: the other one comes later.
file=pipe
(sleep 1; cat good.ptx >pipe) &
go 0 0 instrument pipe -o folder/read
wait
[ -s folder/read ] || fail "a pipe is not read"
(sleep 1; cat pipe >"$dir/folder/got") &
go 0 0 $run --json=pipe -- "$program" attach say=ran
wait
grep -q '"type":"header"' folder/got || fail "a pipe is not written"
exit $failed
