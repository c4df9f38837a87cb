# usage.sh - a wrong command line gets one clear line and exit code 2, and writes nothing.
. "$(dirname "$0")/lib.sh"

# wrong TEXT ARGUMENTS...
wrong() {
	text=$1
	shift
	try 2 "$collider" "$@"
	lines err 1
	has err "collider: error: $text"
	is out ""
}

try 2 "$collider"
has err "Usage: collider COMMAND"
is out ""
wrong "there is no command 'rnu' (did you mean collider run?)" rnu
wrong "there is no command 'xyzzy' (collider help lists them)" xyzzy
wrong "unknown option --quiet before a command" --quiet run
wrong "there is no command 'nope'" help nope
wrong "help explains one command" help run report

wrong "unknown option --rdelai (did you mean --rdelay?)" run --rdelai=5 -- "$fake"
wrong "unknown option --xyzzy (collider help run lists them)" run --xyzzy "$fake"
wrong "--rdelay: found '-5', expected a whole number from 0 to 1000000" run --rdelay=-5 "$fake"
wrong "--speed: found 'slow', expected one of fast|balanced|thorough" run --speed slow "$fake"
wrong "--seed needs a value: N" run --seed
wrong "--stats is an option of collider instrument, not of collider run" run --stats "$fake"
wrong "run needs a program" run
wrong "run needs a program" run --quiet --
wrong "--json needs a value: FILE" run --json -- "$fake"
wrong "--save needs a value: FILE" run --quiet --save -- "$fake"
[ ! -e -- ] || fail "a file named --"

wrong "report needs at least one" report
wrong "instrument takes one PTX file, found 0" instrument
wrong "instrument takes one PTX file, found 2" instrument a.ptx b.ptx
wrong "unknown option --sanitise (did you mean --sanitize?)" instrument --sanitise=none a.ptx
wrong "-o needs a value: FILE" instrument a.ptx -o

# The environment: a wrong value of an own option is an error, an unknown key a warning.
export COLLIDER_OPTIONS=rdelay=x
wrong "COLLIDER_OPTIONS: rdelay: found 'x', expected a whole number" run "$fake"
export COLLIDER_OPTIONS=rdelai=5
try 2 "$collider" run
lines err 2
has err "collider: warning: COLLIDER_OPTIONS: unknown key 'rdelai' ignored (did you mean rdelay?)"
has err "collider: error: run needs a program"
unset COLLIDER_OPTIONS

# A detector that doesn't exist is our error, not ptxas'; nvcc's own lists go to nvcc.
try 2 "$collider" nvcc --sanitize=foo -c none.cu
lines err 1
has err "--sanitize: found 'foo', expected a list of collide,hirace,iguard,watch,none"
try 2 "$collider" nvcc --sanitize=collide,foo -c none.cu
finish
