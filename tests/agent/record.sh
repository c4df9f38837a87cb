#!/bin/bash
# record.sh COLLIDER FOLDER PROGRAM SOURCE DRIVER - --record-launches on a GPU, without one: the CPU device's
# driver library (in the folder DRIVER) is what ours stands in for; "gpu": this machine's own. What is
# recorded so is what the CPU device records itself, for the same program.
set -u
collider=$1 work=$2 program=$3 source=$4 driver=$5
if [ "$driver" = gpu ]; then
	driver=
	[ -e /dev/nvidiactl ] || exit 77
fi
unset COLLIDER_OPTIONS COLLIDER_TOOL_OPTIONS LD_PRELOAD CUDA_MODULE_LOADING COLLIDER_LAUNCHES
rm -rf "$work" && mkdir -p "$work/tmp" && cd "$work" || exit 2
export XDG_CACHE_HOME=$work/cache TMPDIR=$work/tmp
bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}
says() { grep -Eq -- "$2" "$1" || fail "$1: no '$2': $(cat "$1")"; }
lacks() { grep -Eq -- "$2" "$1" && fail "$1: '$2' is there"; }

nvcc -ptx -arch=compute_90 "$source" -o k.ptx || exit 2
nvcc -fatbin -arch=sm_90 "$source" -o k.fatbin || exit 2
nvcc -fatbin -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=compute_90 "$source" -o two.fatbin ||
	exit 2
"$collider" nvcc -ptx -arch=compute_90 --sanitize=collide "$source" -o checked.ptx || exit 2

on_cpu() { # on_cpu OUT OPTIONS... -- ARGUMENTS...
	local out=$1
	shift
	go "$out" --device=cpu --detector=none "$@"
}
with() { # with COMMAND...: with the driver in its place
	if [ -n "$driver" ]; then LD_LIBRARY_PATH=$driver "$@"; else "$@"; fi
}
on_gpu() { with go "$1" --device=gpu "${@:2}"; }
go() {
	local out=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -f "$out"
	timeout 200 "$collider" run --record-launches="$out" "${options[@]}" -- "$program" "$@" >"$out.out" 2>"$out.err"
	[ $? = 3 ] || fail "$out: another exit code than 3: $(cat "$out.err")"
}
# Where an array lies is another place in each run. What it holds is known on the CPU device alone, which makes one launch
# several there; and a node is recorded there as it starts, on a GPU (57, 58) as it is made and changed.
plain() {
	sed -E 's/"value":[0-9]+,"array"/"value":0,"array"/g; s/,"sorted":[^}]*//g' "$1" |
		grep -v '"kernel":"scale".*"value":5[78]}' | awk '!seen[$0]++'
}
same() { # same NAME OPTIONS OF A GPU... -- ARGUMENTS...: what both record, and what the program prints
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	on_cpu "$name.cpu" -- "$@"
	on_gpu "$name.gpu" "${options[@]}" -- "$@"
	cmp "$name.cpu.out" "$name.gpu.out" || fail "$name: the program prints something else"
	diff <(plain "$name.cpu") <(plain "$name.gpu") >"$name.diff" || fail "$name: $(cut -c1-300 "$name.diff" | head)"
}

every=(plain extra ex cooperative stream handle listed capture node apart wide refused idle)
images=(k.ptx two.fatbin)
[ -n "$driver" ] && images+=(k.fatbin)
for f in "${images[@]}"; do
	same "${f%.*}" --detector=none -- $f "${every[@]}"
done
# Each is there once, whatever launched it; what the driver has refused isn't.
for n in 256 50 51 52 53 54 55 56 57 58 59; do
	[ "$(grep -c "\"kernel\":\"scale\".*\"value\":$n}" k.gpu)" = 1 ] || fail "n = $n"
done
[ "$(grep -c '"kernel":"scale".*"value":100}' k.gpu)" = 2 ] || fail 'n = 100'
lacks k.gpu '"kernel":"scale".*"value":61}'
says k.gpu '"kernel":"pair".*"array":1,"at":64,"size":600.*"array":1,"at":0,"size":600'
says k.gpu '"kernel":"nothing","block":\[1,1,1\],"grid":\[1,1,1\],"params":\[\]'
[ "$(grep -c '^{"ptx"' k.gpu)" = 1 ] || fail "texts: $(grep -c '^{"ptx"' k.gpu)"
says k.gpu.err '^Note: [0-9]+ launches recorded as [0-9]+ lines in /.*/k.gpu$'
lacks k.gpu.err 'not recorded|analysed'

# Beside the judge, and in code that has checks: without these.
same judge --load=off --detector=none --judge=auto -- k.ptx plain node
same checked --detector=none -- checked.ptx plain
lacks checked.gpu collider_
same child --detector=none -- k.ptx child plain
same reload --detector=none -- k.ptx reload plain

# The text of a module of which nothing is launched isn't there.
on_gpu none --detector=none -- k.ptx idle
[ -s none ] && fail 'a text without launches'

# What isn't there is counted.
on_cpu many.cpu -- k.ptx many
on_gpu many.gpu --detector=none -- k.ptx many
for d in cpu gpu; do
	says many.$d.err '^Note: 44[0-9]{2} launches not recorded: 65,536 others are'
	[ "$(grep -c '^{"kernel"' many.$d)" -gt 65000 ] || fail "many.$d"
done
with "$collider" run --device=gpu --detector=none --record-launches=/dev/full -- "$program" k.ptx plain \
	>full.out 2>full.err
[ $? = 3 ] || fail "full: $(cat full.err)"
says full.err "record-launches: /dev/full can't be written: No space left"
says full.err '^Note: [0-9]+ launches not recorded: the file'

# What is proven for what a program launches doesn't hang on where it ran.
for d in cpu gpu; do
	[ $d = cpu ] && device=() || device=(with)
	"${device[@]}" "$collider" prove --no-cache --run --device=$d -- "$program" k.ptx plain capture 2>prove.$d.err |
		grep -E '^[^ ].*: |^  (launch|[0-9]+ launches)' | sed -E 's/^  [0-9]+ launches/  launch/' >prove.$d
done
says prove.gpu '^scale: race-free'
cmp prove.cpu prove.gpu || fail "prove: $(diff prove.cpu prove.gpu)"
exit $bad
