#!/bin/sh
# small.sh COLLIDER PROGRAM - in a small grid a thread's only access is drawn, whatever the seed; and a
# lane that is alone draws, too.
collider=$1
program=$2
. "$(dirname "$0")/../cli/lib.sh"

for seed in 1 2 3 4; do
	for case in pairs lone clean; do
		try 0 "$collider" run --device=cpu --detector=watch --seed=$seed -- "$program" $case
		[ $case = clean ] && has err "no race seen" || has err "DATA RACE"
	done
done
finish
