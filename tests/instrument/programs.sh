# programs.sh COLLIDER PROGRAM.cu [DIR] - a program and its races, on the CPU device: without an argument
# it must give its result and no report with any of RUNS (10) seeds; each race that its header names
# must be found in 9 of 10 runs (of 5, in 4), and no data race on a line without a mark:
#   // expect: KIND at TAG     of the racy variant (-DRACY); TAG: lines that end in "// race: TAG"
#   // expect N: KIND at TAG   of the same program run with argument N; TAG|TAG: either of them
#   // never N: KIND at TAG    no report of that race: its other side was left alone
#   // told: TEXT              in the report of the race-free program
#   // also: OPTION            all once more with this option of collider run
#   // also built: OPTION      all once more, built with this option of collider nvcc
#   // also built, in soak: OPTION   the same with SOAK=1 (several lines: each)
# DEVICE=gpu: the same on a GPU (tests/gpu/run_copies.sh), and nothing "also". DIR keeps
# the binaries; BUILD=only builds them (for the CPU device without machine code), BUILD=no takes them as
# they are. Ends with one line for each race:
# race, found, runs of the race-free program without a report.
collider=$1 src=$2
name=$(basename "$src" .cu)
. "$(dirname "$0")/lib.sh"
unset COLLIDER_OPTIONS
device=${DEVICE:-cpu}
dir=${3:-$T}
runs=${RUNS:-10}
arch=$(sed -n 's,^// arch: ,,p' "$src")
target="-O3 -arch=${arch:-sm_90}"
# On a GPU the judge finds these races too, and its words would stand in place of the checks'.
alone=
[ "$device" != gpu ] || alone=--judge=off
[ "$device" = gpu ] || target="-O0 -arch=compute_${target#*_} --no-fit" # -O0 is the host's half

build() { # build OUTPUT FLAGS
	out=$1
	shift
	[ "${BUILD:-}" != no ] || return 0
	# shellcheck disable=SC2086
	"$collider" nvcc -lineinfo $target -cudart shared "$@" \
		-Xlinker -rpath '-Xlinker=$ORIGIN/../lib' \
		-I"$(dirname "$0")/../../examples" "$src" -o "$out" >"$T/log" 2>&1 ||
		{ fail "can't be built: $(head -3 "$T/log")"; exit 1; }
}
# run SEED PROGRAM [ARGUMENT]: its findings that are data races as "kind line" in $T/found
run() {
	seed=$1
	shift
	rm -f "$T/json"
	# shellcheck disable=SC2086
	timeout 60 "$collider" run --detector=collide --device="$device" --seed="$seed" \
		--json="$T/json" --rdelay=5000 --wdelay=5000 $alone $option -- "$@" >"$T/stdout" 2>"$T/stderr"
	rc=$?
	grep -q '"verdict":"\(races\|no-race-seen\)"' "$T/json" ||
		fail "seed $seed: no report: $(tail -1 "$T/stderr")"
	grep '"type":"finding"' "$T/json" | grep '"counts":true' | sed 's/"launched":\[[^]]*\],//' |
		sed 's/.*"kind":"\([^"]*\)".*"line":\([0-9]*\),"column".*/\1 \2/' >"$T/found"
}

# A run of the race-free program; of a racy one, which sets hit.
run_fixed() {
	run "$1" "$dir/$name$suffix"
	quiet=0
	[ $rc -eq 0 ] || { fail "seed $1 $option: exit code $rc: $(tail -1 "$T/stdout")"; return; }
	[ -s "$T/found" ] && { fail "seed $1 $option: false positive: $(cat "$T/found")"; return; }
	quiet=1
}
# run_racy SEED N KIND TAGS
run_racy() {
	want=$3 tags=$4
	if [ -n "$2" ]; then
		run "$1" "$dir/$name$suffix" "$2"
	else
		run "$1" "$dir/$name.racy$suffix"
	fi
	[ $rc -le 1 ] || fail "seed $1 race $2 $option: exit code $rc: $(tail -1 "$T/stderr")"
	hit=0
	while read -r k line; do
		if [ "$k" = "$want" ] && sed -n "${line}p" "$src" | grep -Eq "// race: ($tags)\$"; then
			hit=1
		elif sed -n "s,^// never $2: $k at ,,p" "$src" | grep -q . &&
			sed -n "${line}p" "$src" |
			grep -Eq "// race: ($(sed -n "s,^// never $2: $k at ,,p" "$src"))\$"; then
			fail "seed $1 race $2 $option: the wrong side, $k at line $line"
		elif ! sed -n "${line}p" "$src" | grep -q '// race: '; then
			fail "seed $1 race $2 $option: false positive $k at line $line"
		fi
	done <"$T/found"
}

sed -n 's,^// expect\( [0-9]*\)*: \(.*\) at \(.*\),\1/\2/\3,p' "$src" >"$T/races"
also='also built'
[ -z "${SOAK:-}" ] || also='also built\(, in soak\)*'
flags=$(sed -n "s|^// $also: ||p" "$src")
both() { # builds: SUFFIX FLAGS
	suffix=$1
	shift
	build "$dir/$name$suffix" "$@"
	if grep -q '^/' "$T/races"; then
		build "$dir/$name.racy$suffix" "$@" -DRACY
	fi
}
once() { # all of them once, with seed $1
	run_fixed "$1"
	while IFS=/ read -r n kind tag; do
		run_racy "$1" "${n# }" "$kind" "$tag"
		[ $hit -eq 1 ] || run_racy $((100 + $1)) "${n# }" "$kind" "$tag"
		[ $hit -eq 1 ] || fail "race$n: $kind at $tag not found with $option"
	done <"$T/races"
}

[ "${BUILD:-}" = no ] || needs nvcc
option=
both ""
for f in $flags; do
	[ "$device" = gpu ] || both ".also$f" "$f"
done
[ "${BUILD:-}" != only ] || exit $bad
suffix=
silent=0
for seed in $(seq "$runs"); do
	run_fixed "$seed"
	silent=$((silent + quiet))
done
sed -n 's,^// told: ,,p' "$src" >"$T/told"
while IFS= read -r want; do
	grep -Fq "$want" "$T/stderr" || fail "not told: $want"
done <"$T/told"
while IFS=/ read -r n kind tag; do
	good=0
	for seed in $(seq "$runs"); do
		run_racy "$seed" "${n# }" "$kind" "$tag"
		good=$((good + hit))
	done
	[ $((runs - good)) -le $(((runs + 5) / 10)) ] ||
		fail "race$n found in $good of $runs runs: $kind at $tag"
	printf '%-18s %-32s %-9s %s\n' "$name${n:+ $n}" "$kind at $tag" "$good/$runs" "$silent/$runs"
done <"$T/races"
[ "$device" = cpu ] || exit $bad
option=$(sed -n 's,^// also: ,,p' "$src")
[ -z "$option" ] || once 21
option=
for f in $flags; do
	suffix=.also$f
	once 22
done
exit $bad
