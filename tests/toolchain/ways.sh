#!/bin/bash
# ways.sh - every way of calling nvcc for one file: same artefacts and exit code, instrumented.
. "$(dirname "$0")/lib.sh"
arch=-arch=sm_90

# Outputs of one compilation: one file, or with --keep those of the real nvcc.
way()
{
	local out=$1
	shift
	rm -rf got want && mkdir got want
	(cd got && rc_of 0 "$nvcc" "$@")
	case " $* " in
	*" --keep "*) (cd want && rc_of 0 "$real/bin/nvcc" "$@") && hasnt "want/$out" ;;
	*) : >"want/$out" ;;
	esac
	rm -f got/log want/log
	diff <(ls got) <(ls want) >&2 || fail "other files than nvcc's: $*"
	has "got/$out"
}

way k.o $arch -c ../k.cu
way k.ptx $arch -ptx ../k.cu
way k.cubin $arch -cubin ../k.cu
way k.fatbin $arch -fatbin ../k.cu
way libk.a $arch -lib ../k.cu -o libk.a
way k.o -G -g $arch -c ../k.cu
cp k.cu 'a file.C'
way 'a file.o' $arch -x cu -c '../a file.C'
way k.ptx $arch --keep -c ../k.cu
way k.o -gencode arch=compute_80,code=sm_80 -gencode 'arch=compute_90,code=[sm_90,compute_90]' \
	--threads 2 -c ../k.cu
way app $arch ../k.cu -o app
got/app || fail "the program does not start"
rm -rf got want

# All images of the last but one are instrumented, not just one: count the site tables.
rc_of 0 "$nvcc" --keep -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
	-c k.cu -o two.o
for f in k.compute_80.ptx k.compute_90.ptx; do has $f; done

# Line information: added once, not added where the user says how.
rc_of 0 "$nvcc" $arch -ptx k.cu -o l.ptx
grep -q '\.loc' l.ptx || fail "expected -lineinfo to be added"
rc_of 0 "$nvcc" --no-lineinfo $arch -ptx k.cu -o l.ptx
if grep -q '\.loc' l.ptx; then fail "expected no line information"; fi
rc_of 0 "$nvcc" --dryrun -lineinfo $arch -c k.cu
test "$(grep 'cicc" ' log | grep -o -- '-generate-line-info' | wc -l)" -eq 1 ||
	fail "-lineinfo given twice"

# Standard output in place of a file.
"$nvcc" $arch -ptx k.cu -o - >s.ptx
has s.ptx

# Our options, in place and in a response file; values of other options are not ours.
rc_of 0 "$nvcc" --sanitize=none $arch -c k.cu -o none.o
hasnt none.o
echo "$arch -c --sanitize=none \"k.cu\" -o resp.o" >resp
rc_of 0 "$nvcc" -optf resp
hasnt resp.o
echo "$arch -c k.cu -o resp.o" >resp
rc_of 0 "$nvcc" --options-file resp
has resp.o
rc_of 2 "$nvcc" --sanitize=collide,nonsense -c k.cu
test "$(wc -l <log)" -eq 1 || fail "expected one line about --sanitize"
COLLIDER_DISABLE=1 rc_of 0 "$nvcc" --keep-races $arch -c k.cu -o off.o
hasnt off.o

# --keep-races: the store that the optimiser deletes is still there.
echo '__global__ void d(int *p) { p[threadIdx.x] = 1; p[threadIdx.x] = 2; }' >dead.cu
rc_of 0 "$nvcc" --sanitize=collide --collider-verbose --keep-races $arch -ptx dead.cu
grep -q ': 2 accesses' log || fail "expected both stores with --keep-races, found: $(cat log)"
rc_of 0 "$nvcc" --collider-verbose $arch -ptx dead.cu
grep -q ': 1 accesses' log || fail "expected one store without, found: $(cat log)"
rc_of 0 "$nvcc" --no-invented-reads $arch -c k.cu
rc_of 0 "$nvcc" --no-invented-reads -arch=sm_100 -c k.cu
has k.o

# LTO: compiled without, and said.
rc_of 0 "$nvcc" -dlto $arch -dc k.cu -o lto.o
grep -q 'compiled without checks' log || fail "expected a line about -dlto"
hasnt lto.o
rc_of 0 "$nvcc" -arch=lto_90 -dc k.cu -o lto.o
grep -q 'compiled without checks' log || fail "expected a line about lto_90"
no_leftovers
