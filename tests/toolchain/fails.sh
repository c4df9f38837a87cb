#!/bin/bash
# fails.sh - what goes wrong ends as with the real tools, and leaves nothing half-written.
bare=$(readlink -f "$3")
. "$(dirname "$0")/lib.sh"
arch=-arch=sm_90

# A syntax error: nvcc's code and message, no output.
echo '__global__ void k(int *p) { p[0] = ; }' >bad.cu
rc=0
"$real/bin/nvcc" $arch -c bad.cu -o bad.o 2>want || rc=$?
rc_of $rc "$nvcc" $arch -c bad.cu -o bad.o
diff log want >&2 || fail "other messages than nvcc's"
test ! -e bad.o || fail "half-written bad.o"
rc=0
"$real/bin/nvcc" $arch -ptx bad.cu -o bad.ptx 2>want || rc=$?
rc_of $rc "$nvcc" $arch -ptx bad.cu -o bad.ptx
test ! -e bad.ptx || fail "half-written bad.ptx"
rc=0
"$real/bin/nvcc" -c no-such-file.cu 2>want || rc=$?
rc_of $rc "$nvcc" -c no-such-file.cu
diff log want >&2 || fail "other messages than nvcc's"

# No toolkit anywhere: one line, BASE_EXIT_ENV. ($bare knows no usual places.)
for t in nvcc ptxas; do
	CUDA_HOME= PATH=/nowhere rc_of 3 "$bare" $t -c k.cu
	test "$(wc -l <log)" -eq 1 || fail "expected one line about the toolkit: $(cat log)"
	grep -q 'no CUDA toolkit' log || fail "expected a line about the toolkit: $(cat log)"
done
# An nvcc on PATH that is a script, as distributions and compiler caches have it.
mkdir script
printf '#!/bin/sh\nexec "%s/bin/nvcc" "$@"\n' "$real" >script/nvcc
chmod +x script/nvcc
CUDA_HOME= PATH="$PWD/script:/usr/bin:/bin" rc_of 0 "$bare" nvcc $arch -cubin k.cu -o s.cubin
has s.cubin
# One that is this very program doesn't count (and doesn't call itself for ever).
ln -sf "$bare" script/nvcc
CUDA_HOME= PATH="$PWD/script" rc_of 3 "$bare" nvcc -c k.cu
printf '#!/bin/sh\nexec "%s" nvcc "$@"\n' "$bare" >script/loop
rm script/nvcc
mv script/loop script/nvcc
chmod +x script/nvcc
CUDA_HOME= PATH="$PWD/script" rc_of 3 "$bare" nvcc -c k.cu

# A toolkit of scripts: codes, signals, what cicc is asked.
fake="$work/fake kit"
mkdir -p "$fake/bin" "$fake/nvvm/bin"
for p in bin/nvcc bin/ptxas nvvm/bin/cicc; do
	printf '#!/bin/sh\nexec sh "%s/does" "$@"\n' "$fake" >"$fake/$p"
	chmod +x "$fake/$p"
done
ln -s "$tool" bin/cicc
ln -s "$tool" bin/ptxas
export COLLIDER_TOOL_OPTIONS="root=$fake"
echo 'exit 7' >"$fake/does"
rc_of 7 bin/cicc -arch compute_90 in.ii -o x.ptx
rc_of 7 bin/ptxas -arch=sm_90 in.ptx -o x.cubin
test ! -e x.ptx || fail "half-written x.ptx"
echo 'kill -SEGV $$' >"$fake/does"
rc_of 139 bin/cicc -arch compute_90 in.ii -o x.ptx

# Killed while cicc works: the child dies, too, and the temporary folder is gone.
cat >"$fake/does" <<SH
echo half >"\$5"
echo \$\$ >"$work/pid.new"
mv "$work/pid.new" "$work/pid"
exec sleep 60
SH
bin/cicc -arch compute_90 in.ii -o x.ptx &
wrapper=$!
until [ -e "$work/pid" ]; do sleep 0.05; done
kill -TERM $wrapper
rc=0
wait $wrapper || rc=$?
test $rc -eq 143 || fail "exit code $rc, expected 143 (SIGTERM)"
if kill -0 "$(cat "$work/pid")" 2>/dev/null; then fail "cicc lives on"; fi
test ! -e x.ptx || fail "half-written x.ptx"
no_leftovers

# What can't be instrumented is passed on as it was, said; --strict makes it an error.
echo 'echo "not PTX at all" >"$5"' >"$fake/does"
rc_of 0 bin/cicc -arch compute_90 in.ii -o x.ptx
grep -q 'not instrumented' log || fail "expected a line that says so"
grep -q 'not PTX at all' x.ptx || fail "expected the text as it was"
rm x.ptx
COLLIDER_TOOL_OPTIONS="strict:root=$fake" rc_of 1 bin/cicc -arch compute_90 in.ii -o x.ptx
test ! -e x.ptx || fail "expected no output with --strict"
COLLIDER_TOOL_OPTIONS="nonsense:root=$fake" rc_of 2 bin/cicc -arch compute_90 in.ii -o x.ptx
no_leftovers
unset COLLIDER_TOOL_OPTIONS

rm -rf "$XDG_CACHE_HOME/collider" # $bare has its own mirror there
# The mirror: a damaged one is repaired, an unwritable cache isn't needed.
rc_of 0 "$nvcc" --version
m=$(echo "$XDG_CACHE_HOME"/collider/toolkit-*)
for damage in 'rm' 'truncate -s 20' 'truncate -s 0'; do
	$damage "$m/bin/nvcc.profile"
	rc_of 0 "$nvcc" $arch -c k.cu
	has k.o
	rm k.o
done
rm "$m/bin/cudafe++" # a cleaner of caches takes what it likes
rc_of 0 "$nvcc" $arch -c k.cu
has k.o
XDG_CACHE_HOME=/proc/nowhere rc_of 0 "$nvcc" --version
test -d "$TMPDIR/collider-$(id -u)" || fail "expected the mirror in TMPDIR"
no_leftovers
