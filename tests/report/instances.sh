#!/bin/sh
# instances.sh - a race in two instances of a template is one finding, with the line of the launch
# where host code has debug information, and the function's name where it has none.
#
#   instances.sh COLLIDER WORKDIR
set -u
here=$(cd "$(dirname "$0")" && pwd)
collider=$1
unset COLLIDER_OPTIONS
mkdir -p "$2" && cd "$2" || exit 2
bad=0
line=$(grep -n '/\* race \*/' "$here/instances.cu" | cut -d: -f1)
launch=$(grep -n '/\* launch \*/' "$here/instances.cu" | cut -d: -f1)

# want TEXT: in the report
want() {
	grep -qF -- "$1" report || {
		echo "FAIL: no \"$1\" in:"
		cat report
		bad=1
	}
}

for g in "" -g; do
	"$collider" nvcc $g -arch=sm_90 -o app "$here/instances.cu" || exit 2
	"$collider" run --device=cpu --detector=oracle --save=saved -- ./app >out 2>report
	want "1 data race found"
	want "at $here/instances.cu:$line"
	want "The same in  : void total<"
	"$collider" run --device=cpu --detector=collide -- ./app >out 2>collide
	[ ! "$g" ] || grep -q "Launched     : $here/instances.cu:$launch" collide || {
		echo "FAIL: collide has no launch:"
		cat collide
		bad=1
	}
	if [ "$g" ]; then
		want "Launched     : $here/instances.cu:$launch"
	else
		want "host code built with -g"
	fi
	# The same from a saved report.
	grep -E 'Launched|The same in' report >first
	"$collider" report saved >report 2>&1
	want "1 data race found"
	grep -E 'Launched|The same in' report | cmp -s first - || {
		echo "FAIL: the saved report differs"
		cat first report
		bad=1
	}
done
exit $bad
