#!/bin/bash
# sanitized.sh COLLIDER NVCC SOURCE WORKDIR - programs built with -fsanitize=address and thread run on the CPU
# device, their races are found, and their runtimes report what is the program's, and nothing of ours.
set -u
collider=$1 nvcc=$2 source=$3
unset COLLIDER_OPTIONS ASAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS
mkdir -p "$4" && cd "$4" || exit 2
bad=0

fail() {
	echo "FAIL: $*"
	cat out err
	bad=1
}

# run CODE PROGRAM HOW: the kernel's race is found
run() {
	local rc=0
	"$collider" run --device=cpu --log-file=report -- ./$2 $3 >out 2>err || rc=$?
	[ $rc -eq $1 ] || fail "$2 $3: exit code $rc, expected $1"
	grep -q done out && grep -q '^======== 1 data race found' report || fail "$2 $3: $(grep ^==== report)"
}

for s in address thread; do
	"$nvcc" -g -std=c++14 -gencode arch=compute_90,code=compute_90 -lineinfo -cudart shared -Xcompiler -fsanitize=$s \
		"$source" -o $s || exit 2
	run 3 $s ""
	grep -v '^collider: host code was not watched' err && fail "$s: something is reported"
done
run 1 address leak
grep -q '4 byte(s) leaked in 1 allocation(s)' err || fail "the program's own leak"
run 66 thread race
grep -q 'data race.*sanitized.cu' err || fail "the race of the program's own threads"
grep -q 'reported 1 warnings' err || fail "more than that"

# clang links the runtimes into the program.
command -v clang++ >/dev/null || {
	echo "clang++ is missing (make setup)"
	exit 1
}
for s in address thread; do
	"$nvcc" -g -std=c++14 -gencode arch=compute_90,code=compute_90 -lineinfo -cudart shared -ccbin clang++ \
		-Xcompiler -fsanitize=$s "$source" -o clang_$s >log 2>&1 || { cat log; exit 2; }
done
run 3 clang_address ""
grep -q 'ERROR' err && fail "clang_address: something is reported"
run 66 clang_thread "" # it takes no suppressions of ours
grep -q "^collider: ThreadSanitizer's functions come before" err || fail "clang_thread: no line"
run 1 clang_address leak
grep -q '4 byte(s) leaked in 1 allocation(s)' err || fail "clang: the program's own leak"
exit $bad
