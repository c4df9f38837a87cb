# uniform.sh COLLIDER SOURCE_DIR NVCC - no function of a check takes an argument in a uniform register:
# lanes of the warp that are further on may have written it anew. ptxas does so with a number that it
# knows to be the same in all calls.
collider=$1 src=$2 nvcc=$3
name=uniform
. "$src/lib.sh"
needs ptxas
nvdisasm=$("$src/../../tools/find_cuda.sh" nvdisasm) ||
	{ echo "uniform: nvdisasm is missing: run 'make setup'" >&2; exit 1; }

# Functions of SASS that read a uniform register before they write it, in the order of the text.
inputs() {
	awk '/^\$.*:$/ { name = $1; delete written; next }
	     /^[._A-Za-z].*:$/ { name = "" }
	     name && /\/\*[0-9a-f]+\*\// {
		sub(/^[^*]*\*[0-9a-f]+\*\/ */, ""); sub(/^@!?U?P[0-9T]+ +/, "")
		op = $1; sub(/^[^ ]+ */, "")
		writes = op ~ /^(U|R2UR|S2UR|CS2UR|REDUX|VOTEU|LDCU)/
		n = split($0, part, ","); first = part[1] ~ /UP[0-9T]/ && n > 1 ? 2 : 1
		for (i = 1; i <= n; i++)
			if (!(writes && i == first) && match(part[i], /UR[0-9]+/)) {
				r = substr(part[i], RSTART + 2, RLENGTH - 2)
				if (!(r in written))
					print name, "UR" r, op
			}
		if (writes && match(part[first], /UR[0-9]+/)) {
			r = substr(part[first], RSTART + 2, RLENGTH - 2)
			written[r]; written[r + 1]
		}
	     }' "$1"
}

"$nvcc" -ptx -O3 -std=c++14 -arch=sm_90 "$src/uniform.cu" -o "$T/in.ptx" || exit 1
for detectors in hirace iguard hirace,iguard; do
	for kernels in strong all; do
		"$collider" instrument --sanitize=$detectors --iguard-kernels=$kernels "$T/in.ptx" -o "$T/out.ptx" ||
			fail "$detectors: instrument"
		ptxas -arch=sm_90 "$T/out.ptx" -o "$T/x.cubin" || fail "$detectors: ptxas"
		"$nvdisasm" -c "$T/x.cubin" >"$T/x.sass" || fail "$detectors: nvdisasm"
		grep -q '^\$.*\$__collider_' "$T/x.sass" || fail "$detectors: no function of ours is called"
		inputs "$T/x.sass" >"$T/found"
		[ ! -s "$T/found" ] || fail "$detectors, iguard in $kernels: $(sort "$T/found" | uniq -c | head)"
	done
done
exit $bad
