# rdc.sh COLLIDER SOURCE_DIR - two instrumented objects link, and an instrumented with a plain one.
collider=$1 src=$2
name=rdc
. "$src/lib.sh"
needs nvcc readelf

for f in a b; do
	"$collider" nvcc -arch=sm_80 -dc "$src/rdc_$f.cu" -o "$T/$f.o" 2>"$T/err" ||
		fail "rdc_$f.cu: $(cat "$T/err")"
done
nvcc -arch=sm_80 -dc "$src/rdc_b.cu" -o "$T/plain.o" || fail "nvcc"
for second in b plain; do
	nvcc -arch=sm_80 "$T/a.o" "$T/$second.o" -o "$T/app" 2>"$T/err" || fail "link: $(cat "$T/err")"
	# The device half of the same link, as a file of its own.
	nvcc -arch=sm_80 -dlink -cubin "$T/a.o" "$T/$second.o" -o "$T/app.cubin" 2>"$T/err" ||
		fail "device link: $(cat "$T/err")"
	readelf -sW "$T/app.cubin" >"$T/symbols"
	n=$(grep -o '__collider_sites_[0-9a-f]*' "$T/symbols" | sort -u | wc -l)
	want=2
	[ $second = plain ] && want=1
	[ "$n" = $want ] || fail "found $n site tables beside $second.o, expected $want"
	grep -q __collider_knobs "$T/symbols" || fail "no knobs in the linked program"
done
exit $bad
