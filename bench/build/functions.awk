# functions.awk - how much longer PTX became in functions with more than 200 sites (run.sh).
BEGIN { FS = "\t" }
{
	r = $5 > 0 ? $6 / $5 : 1
	n++
	logs += log(r)
	above += r > 3
	rows[n] = sprintf("%09.4f\t%s", r, $0)
}
END {
	if (!n)
		exit 0
	printf "\n%d functions with more than 200 sites: %.2f times the lines in geomean, %d above 3\n\n", n,
		exp(logs / n), above
	print "| program | function | sites | groups | lines | with checks | factor |"
	print "| --- | --- | --: | --: | --: | --: | --: |"
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && rows[j] > rows[j - 1]; j--) {
			t = rows[j]; rows[j] = rows[j - 1]; rows[j - 1] = t
		}
	for (i = 1; i <= n && i <= 20; i++) {
		split(rows[i], f, "\t")
		printf "| %s | %.60s | %d | %d | %d | %d | %.2f |\n", f[2], f[3], f[4], f[5], f[6], f[7], f[1]
	}
}
