#!/bin/bash
# cache.sh - instrumented code that is kept: cache.sh COLLIDER BUILT SOURCES
. "$(dirname "$0")/lib.sh"
program=$built/load_program
kept=$XDG_CACHE_HOME/collider/loaded
nvcc -fatbin -lineinfo -arch=sm_90 sum.cu -o sum.fatbin || exit 2

go a -- "$program" . wrapper:sum.fatbin || fail "a: $(cat a.err)"
says a.err ' 1 of 1 images in [0-9.]+ s$'
go b -- "$program" . wrapper:sum.fatbin fat:sum.fatbin || fail "b: $(cat b.err)"
says b.err ' 2 of 2 images in [0-9.]+ s, 2 kept from earlier runs$'
cmp a.0 b.0 && cmp a.0 b.1 || fail "kept code differs"
[ "$(ls "$kept" | wc -l)" -eq 1 ] || fail "one entry expected: $(ls "$kept")"

# A program that ignores the ends of its children: ptxas' is waited for nevertheless.
XDG_CACHE_HOME=$work/i.cache go i -- perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' "$program" . wrapper:sum.fatbin ||
	fail "i: $(cat i.err)"
says i.err ' 1 of 1 images in [0-9.]+ s$'

# Other options, another device and another detector are another code.
STANDIN_SM=80 go b -- "$program" . wrapper:sum.fatbin || fail "b: $(cat b.err)"
go b --detector=collide,watch -- "$program" . wrapper:sum.fatbin || fail "b: $(cat b.err)"
says b.err ' 1 of 1 images in [0-9.]+ s$'
go b -- "$program" . wrapper:sum.fatbin || fail "b: $(cat b.err)"
says b.err ', 1 kept from earlier runs$'

# Entries that a full disk or a crash has damaged are none.
entry=$(ls -t "$kept"/* | head -1)
for damage in cut flip empty; do
	for f in "$kept"/*; do
		case $damage in
		cut) truncate -s -100 "$f" ;;
		flip) printf x | dd of="$f" bs=1 seek=5000 conv=notrunc status=none ;;
		empty) : >"$f" ;;
		esac
	done
	go b -- "$program" . wrapper:sum.fatbin || fail "$damage: $(cat b.err)"
	says b.err ' 1 of 1 images in [0-9.]+ s$'
	cmp a.0 b.0 || fail "$damage: other code"
done

# Many processes at once, and several threads' worth of images: all get the same.
rm -rf "$kept"
for i in 1 2 3 4; do go p$i -- "$program" . wrapper:sum.fatbin fat:sum.fatbin & done
wait
for i in 1 2 3 4; do cmp a.0 p$i.0 && cmp a.0 p$i.1 || fail "process $i: other code: $(cat p$i.err)"; done
[ "$(ls "$kept" | wc -l)" -eq 1 ] || fail "leftovers: $(ls "$kept")"
[ -z "$(ls "$TMPDIR")" ] || fail "temporary files: $(ls "$TMPDIR")"

# What ptxas has refused isn't tried again, and is said again.
rm -rf "$kept"
nvcc -ptx -arch=sm_90 sum.cu -o sum.ptx || exit 2
{ cat sum.ptx; echo ".visible .entry broken() { add.s32 %r1, %r2; }"; } >broken.ptx
go b -- "$program" . data:broken.ptx || fail "b: $(cat b.err)"
[ "$(ls "$kept" | wc -l)" -eq 1 ] || fail "one entry expected: $(ls "$kept")"
go b -- "$program" . data:broken.ptx || fail "b: $(cat b.err)"
says b.err 'load_program: not instrumented: ptxas refuses the original: '

# Where nothing can be kept it is made each time.
rm -rf "$kept" && ln -s /nonexistent "$kept"
go b -- "$program" . wrapper:sum.fatbin || fail "b: $(cat b.err)"
cmp a.0 b.0 || fail "without a folder: other code"
rm -f "$kept"

# The program sees nothing of the process that makes it.
go b -- "$program" . unseen:sum.fatbin || fail "b: $(cat b.err)"
expect b.out "signals 0, children 0, files 0"
exit $bad
