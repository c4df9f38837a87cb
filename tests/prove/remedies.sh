#!/bin/bash
# remedies.sh COLLIDER NVCC KERNELS.cu: assumptions that take all alarms away, of kernels whose sizes no
# dimension of the launch shows. Where rows overlap whatever the sizes are there is none.
collider=$1 nvcc=$2 source=$3
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0
"$nvcc" -ptx -arch=sm_90 -G -o "$tree/k.ptx" "$source" || exit 1

prove() { # prove KERNEL OPTION...: by its mangled name, which no other name has in it
	"$collider" prove --no-cache --kernel="${#1}$1" "${@:2}" "$tree/k.ptx"
}
helps() { # helps PATTERN KERNEL OPTION...: an assumption like that removes all
	prove "${@:2}" | grep -Eq "race-free with --assume='($1)'" ||
		{ echo "FAIL $2: no remedy like $1"; failed=1; }
}
helps_not() { # helps_not TEXT KERNEL OPTION...: no assumption with that removes all
	! prove "${@:2}" | grep "race-free with --assume=.*$1" || { echo "FAIL $2: it doesn't help"; failed=1; }
}
promises_not() { # promises_not KERNEL OPTION...: none is said to remove some alarms
	! prove "$@" | grep "alarms with --assume=" || { echo "FAIL $1: they are as many"; failed=1; }
}
ends() { # ends CODE KERNEL OPTION...
	prove "${@:2}" >/dev/null
	local rc=$?
	[ $rc = "$1" ] || { echo "FAIL ${*:2}: expected exit code $1, found $rc"; failed=1; }
}

# A busy machine needs more processor time for the same work, which Z3's own measure bounds.
long=--prove-timeout=100
helps 'blockDim.x <= 256 && gridDim.x <= 8388607' tiled $long
helps 'blockDim.x <= 256 && gridDim.x <= 4194303' pairs $long
helps 'blockDim.x % 32 == 0' rows $long
helps 'gridDim.x . 32 . blockDim.x <= 2147483647 && n >= 0 && n . n <= n . 2147483647 && blockDim.x <= 32 && blockDim.y <= 8' inner $long
helps 'blockDim.x <= 16 && blockDim.y <= 16 && n >= 0 && n . n <= 2147483647 && gridDim.x . 16 <= n && gridDim.y . 16 <= n' whole $long
# no thread is left of a width below 0
helps 'gridDim.x . 32 . blockDim.x <= 2147483647 && (width >= 0 && )?width . height <= 2147483647 && blockDim.x <= 32 && blockDim.y <= 8' oblong $long
helps_not '' column --prove-timeout=3
# 16 by 16 threads
of_16="--block-dim=16,16 --grid-dim=64,48"
# shellcheck disable=SC2086
{
helps 'w . h <= 2147483647' filled $of_16
ends 0 filled --assume='w * h <= 2147483647' $of_16
ends 10 filled_askew --no-remedies --assume='w * h <= 2147483647' $of_16
helps 'n >= 0 && n . n <= n . 2147483647' colour --block-dim=16,16 --grid-dim=4,8
}
helps 'gridDim.x . gridDim.y . 64 <= 2147483647' numbered --block-dim=16,4
ends 0 numbered --assume='gridDim.x * gridDim.y * 64 <= 2147483647' --block-dim=16,4
helps_not '' numbered_apart --block-dim=16,4
promises_not in_turns --block-dim=16,4
strips='--prove-timeout=4s --block-dim=16,8 --grid-dim=12,3'
# shellcheck disable=SC2086
{
helps 'pitch . 135 <= 2147483456 && 192 <= pitch' strips $strips
helps_not '' strips_overlap $strips
}
helps 'stride >= 1 && stride <= [0-9]+ && .stride & stride - 1. == 0' butterfly --block-dim=64 --grid-dim=4
ends 0 butterfly --assume='stride > 0 && stride <= 65536 && (stride & stride - 1) == 0' --block-dim=64 --grid-dim=4
helps 'log2n >= 1 && log2n <= [0-9]*' shifted --block-dim=128 --grid-dim=8
ends 0 shifted --assume='log2n >= 1 && log2n <= 16' --block-dim=128 --grid-dim=8
helps_not 'log2n >= 1' shifted_overlap --block-dim=128 --grid-dim=8
helps '.*16 <= dim.*' lanes_rows --block-dim=16 --grid-dim=1
helps 'n > 0' copy_stages --block-dim=64 --grid-dim=1
helps '.*w . 8 <= pitch.*' in_bytes --block-dim=32,4 --grid-dim=4,8
helps '1 <= n && n <= 17' in_words --block-dim=128 --grid-dim=4
helps '.*64 <= dim && 128 <= seq && 12 <= n' in_heads --block-dim=64 --grid-dim=128,12,8
helps '.*39 <= n' in_places --block-dim=32 --grid-dim=4
helps '.*' many --block-dim=64 --grid-dim=32
helps_not '' many_halves --block-dim=64 --grid-dim=32
helps '.*256 <= cols.*' tiles --block-dim=16 --grid-dim=16
helps_not '<= cols' narrow --block-dim=16 --grid-dim=16
helps '.*1 <= w && 1 <= h.*' put_down --block-dim=256 --grid-dim=64
helps 'n >= 0 && n <= 1048576' counted --block-dim=64 --grid-dim=46
helps "injective.places." through_table --block-dim=256 --grid-dim=4
helps "apart.from, n." counted_parts --block-dim=256 --grid-dim=4
helps_not 'distinct' columns_of
helps_not 'gridDim.x == 1' parts
helps 'sorted.key.' heads
exit $failed
