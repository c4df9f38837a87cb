#!/bin/bash
# run.sh - what instrumentation costs, on a GPU, as a table and as JSON.
#
#   run.sh DIR COLLIDER [-s "SIZE ..."] [-n REPEATS] [-t SECONDS] [-o FILE.json] [-x]
#
# DIR/plain/overhead and DIR/collide/overhead come from tests/gpu/build.sh. For each size the four
# configurations run one after the other: native, fast (delays 1/1), balanced (5000/1), and
# compute-sanitizer --tool racecheck on the plain program where it is on the PATH (-x: leave out),
# kernel by kernel with a limit of SECONDS (60) each, only at size small. A ratio is never
# taken across sizes. A kernel that a configuration didn't finish, or whose checksum differs
# from native, is shown as such and makes the exit code 1.
set -u

usage="usage: $0 DIR COLLIDER [-s 'SIZE ...'] [-n REPEATS] [-t SECONDS] [-o FILE.json] [-x]"
[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
dir=$(cd "$1" && pwd) || exit 2
collider=$2
shift 2
sizes="small full"
repeats=11
limit=60
json=overhead.json
is_racecheck=1
while getopts s:n:t:o:x o; do
	case $o in
	s) sizes=$OPTARG ;;
	n) repeats=$OPTARG ;;
	t) limit=$OPTARG ;;
	o) json=$OPTARG ;;
	x) is_racecheck=0 ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
if [ $is_racecheck -eq 1 ] && ! command -v compute-sanitizer >/dev/null; then
	echo "compute-sanitizer is not on the PATH: racecheck is left out"
	is_racecheck=0
fi
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1)
when=$(date -u +%Y-%m-%dT%H:%M:%SZ)
bad=0

# Lines "kernel NAME ms MS sum SUM" of one configuration go to $tmp/CONFIG
run_plain() {
	timeout 300 "$dir/plain/overhead" --size "$1" --repeat "$repeats" |
		grep '^kernel ' >"$tmp/native"
}

run_instrumented() { # CONFIG SIZE RDELAY WDELAY
	timeout 600 "$collider" run --json="$tmp/report" --rdelay="$3" --wdelay="$4" -- \
		"$dir/collide/overhead" --size "$2" --repeat "$repeats" 2>"$tmp/err" |
		grep '^kernel ' >"$tmp/$1"
	grep '"type":"summary"' "$tmp/report" 2>/dev/null | grep -o '"checked":[0-9]*' | head -1 |
		cut -d: -f2 >"$tmp/$1.checked"
}

run_racecheck() {
	local name
	: >"$tmp/racecheck"
	for name in $("$dir/plain/overhead" --list); do
		timeout "$limit" compute-sanitizer --tool racecheck --print-limit 1 \
			"$dir/plain/overhead" --size "$1" --repeat 3 --only "$name" 2>/dev/null |
			grep '^kernel ' >>"$tmp/racecheck"
	done
}

# One line per kernel and a summary, from the configurations' files; JSON to $tmp/json.
table='
function ratio(c, k) { return (c, k) in ms && ms["native", k] > 0 ? ms[c, k] / ms["native", k] : 0 }
function cell(c, k,   r) {
	r = ratio(c, k)
	if (!r) return "-"
	if (sum[c, k] != sum["native", k]) return "WRONG"
	return sprintf("%.2f", r)
}
function summary(c,   i, j, n, t, logs, v, g, m) {
	n = 0; logs = 0
	for (i = 1; i <= nk; i++)
		if (ratio(c, kernel[i])) { v[++n] = ratio(c, kernel[i]); logs += log(v[n]) }
	if (!n) return 0
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && v[j] < v[j - 1]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
	g = exp(logs / n)
	m = n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
	geo[c] = sprintf("%.2f", g); med[c] = sprintf("%.2f", m); max[c] = sprintf("%.2f", v[n])
	js = js sprintf("%s\"%s\":{\"kernels\":%d,\"geomean\":%.4f,\"median\":%.4f,\"max\":%.4f}",
			js == "" ? "" : ",", c, n, g, m, v[n])
	return n
}
FNR == 1 { c = FILENAME; sub(".*/", "", c) }
$1 == "kernel" && $3 == "ms" {
	ms[c, $2] = $4; sum[c, $2] = $6
	if (c == "native") kernel[++nk] = $2
}
END {
	n = split("fast balanced racecheck", conf, " ")
	printf "%-14s %12s %10s %10s %10s\n", "size " size, "native ms", "fast", "balanced", "racecheck"
	for (i = 1; i <= nk; i++) {
		k = kernel[i]
		printf "%-14s %12.4f %10s %10s %10s\n", k, ms["native", k], cell("fast", k),
			cell("balanced", k), cell("racecheck", k)
		line = sprintf("{\"name\":\"%s\",\"native_ms\":%.6f", k, ms["native", k])
		for (j = 1; j <= n; j++) {
			if (ratio(conf[j], k))
				line = line sprintf(",\"%s_ms\":%.6f,\"%s_ratio\":%.4f,\"%s_same\":%s",
					conf[j], ms[conf[j], k], conf[j], ratio(conf[j], k), conf[j],
					sum[conf[j], k] == sum["native", k] ? "true" : "false")
			if (conf[j] != "racecheck" && (cell(conf[j], k) == "-" ||
						       cell(conf[j], k) == "WRONG"))
				bad = 1
		}
		rows = rows (i > 1 ? "," : "") line "}"
	}
	for (j = 1; j <= n; j++)
		if (!summary(conf[j])) geo[conf[j]] = med[conf[j]] = max[conf[j]] = "-"
	printf "%-14s %12s %10s %10s %10s\n", "geomean", "", geo["fast"], geo["balanced"], geo["racecheck"]
	printf "%-14s %12s %10s %10s %10s\n", "median", "", med["fast"], med["balanced"], med["racecheck"]
	printf "%-14s %12s %10s %10s %10s\n", "max", "", max["fast"], max["balanced"], max["racecheck"]
	printf "{\"size\":\"%s\",\"kernels\":[%s],\"summary\":{%s}}", size, rows, js >json
	exit !nk || bad
}'

echo "GPU: ${gpu:-unknown}, $when, median of $repeats; ratios to native"
printf '{"schema":"collider-overhead","version":1,"date":"%s","gpu":"%s","repeats":%d,"sizes":[' \
	"$when" "$gpu" "$repeats" >"$tmp/all"
is_first=1
for size in $sizes; do
	rm -f "$tmp/native" "$tmp/fast" "$tmp/balanced" "$tmp/racecheck"
	run_plain "$size"
	run_instrumented fast "$size" 1 1
	run_instrumented balanced "$size" 5000 1
	files=("$tmp/native" "$tmp/fast" "$tmp/balanced")
	if [ $is_racecheck -eq 1 ] && [ "$size" = small ]; then
		run_racecheck "$size"
		files+=("$tmp/racecheck")
	fi
	awk -v size="$size" -v json="$tmp/json" "$table" "${files[@]}" || bad=1
	echo "checked accesses: fast $(cat "$tmp/fast.checked"), balanced $(cat "$tmp/balanced.checked")"
	[ $is_first -eq 1 ] || printf ',' >>"$tmp/all"
	is_first=0
	cat "$tmp/json" >>"$tmp/all"
done
printf ']}\n' >>"$tmp/all"
cp "$tmp/all" "$json" && echo "written: $json"
exit $bad
