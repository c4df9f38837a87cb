#!/bin/sh
# questions.sh COLLIDER QUESTIONS - what the driver's half answers, and that what isn't there is
# named once.
set -eu
out=$("$1" run --device=cpu --cpu-devices=2 -- "$2" 2>&1) || {
	echo "$out"
	exit 1
}
n=$(echo "$out" | grep -c '^collider: cuIpcGetMemHandle is not available on the CPU device$')
[ "$n" = 1 ] || {
	echo "cuIpcGetMemHandle was named $n times"
	exit 1
}
echo "$out" | grep -q '^Note: cuIpcGetMemHandle is not available on the CPU device$' || {
	echo "$out" | grep '^Note'
	echo "the report doesn't name cuIpcGetMemHandle"
	exit 1
}
