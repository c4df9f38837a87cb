#!/bin/sh
# choice.sh - which launches collider run checks: by name, number and time. Of two racy launches the
# chosen one is reported and the other isn't; the report says which launches were left out.
#
#   choice.sh COLLIDER SOURCE WORKDIR [gpu]
#
# On a GPU for each detector whose checks are put in; 77: there is none.
set -u
collider=$1 source=$2 device=${4:-cpu}
detectors="oracle collide" how=
[ $device = cpu ] || { detectors="collide hirace iguard"; how=--sanitize=collide,hirace,iguard; }
[ $device = cpu ] || [ -e /dev/nvidiactl ] || exit 77
unset COLLIDER_OPTIONS
mkdir -p "$3" && cd "$3" || exit 2
bad=0

"$collider" nvcc $how -arch=sm_90 -o app "$source" || exit 2

# choose OPTION FOUND LEFT_OUT: kernels total<FOUND> and total<LEFT_OUT>; "none": no such kernel
choose() {
	for detector in $detectors; do
		"$collider" run --device=$device --detector=$detector "$1" -- ./app >out 2>report
		rc=$?
		[ $rc -eq 0 ] || { echo "FAIL: $1: exit code $rc"; bad=1; }
		for kernel in int double; do
			finding=$(grep -c " in void total<$kernel>\|The same in.*total<$kernel>" report)
			note=$(grep -c "Note: void total<$kernel>.*none checked" report)
			case $2,$3 in
			*$kernel*,*) [ "$finding" -ge 1 ] && [ "$note" -eq 0 ] ;;
			*) [ "$finding" -eq 0 ] && [ "$note" -eq 1 ] ;;
			esac || {
				echo "FAIL: $detector, $1: total<$kernel>:"
				cat report
				bad=1
			}
		done
	done
}

choose "--kernel-name=total<int>" int double
choose "--kernel-name=regex:^_Z5totalId" double int
choose "--kernel-name-exclude=total<int>" double int
choose "--kernel-name-exclude=regex:^total" none both
choose "--launch-skip=1" double int
choose "--launch-count=1" int double
choose "--budget=1h" int,double none

"$collider" run --device=$device "--kernel-name=regex:(" -- ./app >out 2>report
[ $? -eq 2 ] && grep -q "found '('.*expected a regular expression" report || {
	echo "FAIL: a bad expression: $(cat report)"
	bad=1
}
exit $bad
