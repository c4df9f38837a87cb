#!/bin/bash
# install.sh - what `make install` puts where, and whether it works after the tree was moved.
#
#   install.sh BUILD ROOT TREE
#
# Installs BUILD into a folder, moves that to TREE (which stays, for other tests), and builds and runs
# from there: a kernel's race and its twin, a race in host code and its twin, with nothing of BUILD
# on PATH. The copy that was built has other libraries: they are to be those of TREE.
set -u
export LC_ALL=C # of sort
build=$1
root=$2
tree=$3
bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
unset COLLIDER_OPTIONS COLLIDER_CUDART COLLIDER_AGENT COLLIDER_CPU COLLIDER_CC
export XDG_CACHE_HOME=$work/cache

"${CMAKE:-cmake}" --install "$build" --prefix "$work/first" >"$work/log" 2>&1 ||
	{ cat "$work/log"; exit 1; }

# Nothing that a linker or a program could find by accident: only collider and its names, the page, and the C library.
# The documentation is as in the sources.
(cd "$work/first" && find . ! -type d ! -path './share/doc/*' | sort) >"$work/have"
for f in README.md LICENSE docs examples; do
	diff -r "$root/$f" "$work/first/share/doc/collider/$f" >"$work/log" ||
		{ cat "$work/log"; fail "share/doc/collider/$f differs"; }
done
cat >"$work/want" <<'L'
./bin/collider
./bin/collider-c++
./bin/collider-cc
./bin/collider-nvcc
./include/collider/annotate.h
./include/collider/assume.h
./include/collider/ptx.h
./lib/cmake/Collider/ColliderConfig.cmake
./lib/cmake/Collider/ColliderConfigVersion.cmake
./lib/collider/cpu/libcuda.so.1
./lib/collider/cpu/libcudart.so.13
./lib/collider/gpu/libcuda.so.1
./lib/collider/host/libcollider_host.a
./lib/collider/host/libtsan.a
./lib/collider/host/libtsan_preinit.o
./lib/collider/libcollider_agent.so
./lib/collider/python/collider_pytest.py
./lib/collider/python/collider_triton/__init__.py
./lib/collider/python/collider_triton/compiler.py
./lib/collider/python/collider_triton/driver.py
./lib/collider/python/sitecustomize.py
./lib/libcollider-ptx.so
./lib/libcollider-ptx.so.1
./lib/libcollider-ptx.so.1.0.0
./lib/pkgconfig/collider-ptx.pc
./lib/pkgconfig/collider.pc
./share/bash-completion/completions/collider
./share/fish/vendor_completions.d/collider.fish
./share/man/man1/collider-c++.1
./share/man/man1/collider-cc.1
./share/man/man1/collider-doctor.1
./share/man/man1/collider-help.1
./share/man/man1/collider-hirace.1
./share/man/man1/collider-history.1
./share/man/man1/collider-instrument.1
./share/man/man1/collider-judge.1
./share/man/man1/collider-nvcc.1
./share/man/man1/collider-prove.1
./share/man/man1/collider-ptxas.1
./share/man/man1/collider-reduce.1
./share/man/man1/collider-report.1
./share/man/man1/collider-run.1
./share/man/man1/collider-suppress.1
./share/man/man1/collider-sweep.1
./share/man/man1/collider.1
./share/zsh/site-functions/_collider
L
# Where there is MPI.
[ ! -e "$build/bin/collider-mpi" ] || echo ./bin/collider-mpi >>"$work/want"
sort -o "$work/want" "$work/want"
diff -u "$work/want" "$work/have" || fail "other files than expected"
rm -rf "$tree" && mkdir -p "$(dirname "$tree")" && mv "$work/first" "$tree" || exit 2

PATH=$tree/bin:$PATH
[ "$(command -v collider-cc)" = "$tree/bin/collider-cc" ] || fail "collider-cc is not in bin/"
cd "$work" || exit 2

# go CODE TEXT COMMAND...: exit code and a line of its output; what it loads of ours is of TREE
go() {
	local want=$1 text=$2 rc
	shift 2
	LD_DEBUG=files LD_DEBUG_OUTPUT=$work/loaded timeout 300 "$@" >out 2>&1
	rc=$?
	[ $rc -eq "$want" ] || fail "$*: exit code $rc, expected $want: $(tail -3 out)"
	grep -q -- "$text" out || fail "$*: nothing like '$text' in $(tail -3 out)"
	cat loaded.* 2>/dev/null | sed -n 's/.*calling init: //p' | grep -E 'collider|cudart' |
		grep -v "^$tree/" && fail "$*: loads a library that is not of this tree"
	rm -f loaded.*
}

for name in reduction reduction.fixed; do
	collider nvcc -O3 -arch=sm_80 "$root/examples/$name.cu" -o $name || fail "$name can't be built"
done
go 99 'RACES WITH' collider run --device=cpu --error-exitcode=99 -- ./reduction
go 0 'no race seen' collider run --device=cpu --error-exitcode=99 -- ./reduction.fixed

# LD_PRELOAD takes neither blanks nor colons in a name.
cp -r "$tree" "$work/a b:c" || exit 2
for name in reduction reduction.fixed; do
	"$work/a b:c/bin/collider" run --device=cpu --error-exitcode=99 -- ./$name >out 2>&1
	rc=$?
	[ $rc.$name = 99.reduction ] || [ $rc.$name = 0.reduction.fixed ] ||
		fail "in a folder with a blank and a colon: $name: exit code $rc: $(tail -3 out)"
done

"$work/a b:c/bin/collider-nvcc" --host -O2 -arch=sm_90 -c "$root/examples/host/kernels.cu" -o kernels.o &&
	collider-cc -O2 -c "$root/examples/host/main.c" -o main.o &&
	"$work/a b:c/bin/collider" nvcc --host kernels.o main.o -o app || fail "examples/host can't be built"
go 99 'clobbered read in host code' collider run --device=cpu --detector=collide --error-exitcode=99 -- ./app
go 0 'no race seen' collider run --device=cpu --detector=collide --error-exitcode=99 -- ./app wait

# An ordinary build with the tree on the linker's path is not given our empty stand-in.
cat >t.c <<'C'
int main(void)
{
	return 0;
}
C
gcc -fsanitize=thread -L"$tree/lib" t.c -o t -Wl,-t >link 2>&1
grep "$tree" link && fail "gcc -fsanitize=thread finds our libtsan"
[ $bad -ne 0 ] || echo "installed, moved, found all"
exit $bad
